"""The command that describes settings."""

import click


@click.command()
@click.argument("key", required=False)
def settings(key: str | None) -> None:
    """List the settings of a study, or describe those of KEY: a key, or a section such as `privacy`.

    Without KEY each setting has one line: its key, its default, and the first sentence of its description.
    """
    from dpgrs.study.setting_help import describe_settings

    described = describe_settings(key)
    formatter = click.HelpFormatter(max_width=110)
    if key is None:
        for setting in described:
            first_sentence = f"{setting.description.partition('. ')[0].rstrip('.')}."
            formatter.write(f"{setting.key}: {setting.default}\n")
            with formatter.indentation():
                formatter.write_text(first_sentence)
    else:
        for setting in described:
            formatter.write_heading(setting.key)
            with formatter.indentation():
                formatter.write_text(setting.description)
                formatter.write_text(setting.facts)
            formatter.write_paragraph()
    click.echo(formatter.getvalue().rstrip("\n"))
