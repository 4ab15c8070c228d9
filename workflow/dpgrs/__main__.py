"""`python -m dpgrs` is the command line."""

from dpgrs.cli.main import main

if __name__ == "__main__":
    main()
