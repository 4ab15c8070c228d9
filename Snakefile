# The workflow is in workflow/. An `include:` would leave out its default target.
workflow.include("workflow/Snakefile", overwrite_default_target=True)
