# The workflow is in workflow/. Default targets of an included file do not count.
include: "workflow/Snakefile"


rule study:
    default_target: True
    input:
        rules.all.input,
