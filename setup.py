"""The wheel holds the rules, too, which are no package: `dpgrs run` takes them from there."""

from pathlib import Path
from shutil import copy, copytree, ignore_patterns

from setuptools import setup
from setuptools.command.build_py import build_py

RULES = (
    "workflow/Snakefile",
    "workflow/rules",
    "workflow/profiles",
    "workflow/report",
    "envs",
    *sorted(str(path) for path in Path("config").glob("*.yaml")),
)


class BuildWithRules(build_py):
    """Lays the rules below the package, in the folders that they have in a clone."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        for name in RULES:
            target = Path(self.build_lib, "dpgrs", "clone", name)
            target.parent.mkdir(parents=True, exist_ok=True)
            if Path(name).is_dir():
                copytree(name, target, dirs_exist_ok=True, ignore=ignore_patterns("__pycache__"))
            else:
                copy(name, target)


setup(cmdclass={"build_py": BuildWithRules})
