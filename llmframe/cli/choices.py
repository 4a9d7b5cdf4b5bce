"""The options that `map` and `plan` share, each with its help.

None has a default of its own: an option that isn't said leaves the job file to decide, then the environment.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from llmframe.cli.help_pages import THIS
from llmframe.core.cells import OnNull
from llmframe.core.fields import Labels, Nested
from llmframe.core.scoring import Confidence
from llmframe.options import OutputMode, Priority

Exists = Literal["error", "replace", "append"]
ModeWord = Literal["live", "batch"]
FallbackWord = Literal["batch", "live", "none"]

FILES: Final = "Input and output"
QUESTION: Final = "Question"
COLUMNS: Final = "New columns"
SENDING: Final = "Sending"
LIMITS: Final = "Limits"
KEPT: Final = "Answers kept"

Input = Annotated[
    str | None,
    typer.Argument(
        metavar="IN",
        show_default=False,
        help="Parquet, CSV, JSONL or Arrow file; a folder or glob of them; a Delta table; any fsspec address.",
        rich_help_panel=FILES,
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="OUT", help="Where the rows go, with the new columns.", rich_help_panel=FILES
    ),
]
Format = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Format of IN, where its name doesn't tell.", rich_help_panel=FILES),
]
OutputFormat = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Format of OUT, where its name doesn't tell.", rich_help_panel=FILES),
]
ExistsOption = Annotated[
    Exists | None,
    typer.Option(
        metavar="error|replace|append",
        help="What an OUT that is there means; append: to a Delta table.",
        rich_help_panel=FILES,
    ),
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        metavar="COL=TYPE",
        help="Type of a CSV column, such as postcode=string; repeatable.",
        rich_help_panel=FILES,
    ),
]
SpreadsheetSafe = Annotated[
    bool | None,
    typer.Option(
        "--spreadsheet-safe/--no-spreadsheet-safe",
        help="Keep answers that begin with = + - @ from becoming formulas in CSV.",
        rich_help_panel=FILES,
    ),
]
BatchRows = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Rows read at once.", rich_help_panel=FILES),
]

Prompt = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help='Template over columns: "Topic of {title}?"', rich_help_panel=QUESTION),
]
PromptFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The template in a file.", rich_help_panel=QUESTION),
]
Schema = Annotated[
    str | None,
    typer.Option(
        metavar="SCHEMA",
        help='What an answer is: module:Model, schema.json, or "label: positive|negative, confidence: float". '
        "Without it: free text.",
        rich_help_panel=QUESTION,
    ),
]
System = Annotated[
    str | None, typer.Option(metavar="TEXT", help="System message, a template too.", rich_help_panel=QUESTION)
]
SystemFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The system message in a file.", rich_help_panel=QUESTION)
]
OnNullOption = Annotated[
    OnNull | None,
    typer.Option(
        metavar="skip|render|raise",
        help="For a null in a used column; skip: the row isn't asked.",
        rich_help_panel=QUESTION,
    ),
]

Prefix = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Before the name of every new column.", rich_help_panel=COLUMNS)
]
Into = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="One column that holds the whole answer.", rich_help_panel=COLUMNS),
]
LabelsOption = Annotated[
    Labels | None,
    typer.Option(
        metavar="enum|string", help="Closed labels as text (string) or as categories (enum).", rich_help_panel=COLUMNS
    ),
]
NestedOption = Annotated[
    Nested | None,
    typer.Option(
        metavar="native|json", help="Lists and structs as they are (native) or as JSON text.", rich_help_panel=COLUMNS
    ),
]
ConfidenceOption = Annotated[
    Confidence | None,
    typer.Option(
        metavar="stated|logprobs|votes|auto",
        help="Add how sure each label is, and the source of that. auto: log-probabilities, or votes where the endpoint "
        "tells none.",
        rich_help_panel=COLUMNS,
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Votes that a row may get (--confidence votes or auto); 5.", rich_help_panel=COLUMNS
    ),
]
Distribution = Annotated[
    bool | None,
    typer.Option(
        "--distribution/--no-distribution",
        help="Add the probability of every label (--confidence logprobs, votes or auto).",
        rich_help_panel=COLUMNS,
    ),
]
CalibrationOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="A calibration of this prompt and model, as Python saved it.", rich_help_panel=COLUMNS
    ),
]
Overwrite = Annotated[
    bool | None,
    typer.Option(
        "--overwrite/--no-overwrite",
        help="Replace columns of IN that have the names of new ones.",
        rich_help_panel=COLUMNS,
    ),
]
Meta = Annotated[
    bool | None,
    typer.Option("--meta/--no-meta", help="Add llm_meta: model, tokens, dollars of each row.", rich_help_panel=COLUMNS),
]

Model = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="provider/model; `llmframe models` lists them.", rich_help_panel=SENDING),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="An OpenAI-compatible server; the name goes there as it is.", rich_help_panel=SENDING
    ),
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        metavar="NAME=JSON",
        help="Sent beside the messages, such as temperature=0; repeatable.",
        rich_help_panel=SENDING,
    ),
]
OutputModeOption = Annotated[
    OutputMode | None,
    typer.Option(
        metavar="auto|json_schema|tools|json|score",
        help="How the schema is sent; auto finds out. score: an embedded model and one closed field, no text is made.",
        rich_help_panel=SENDING,
    ),
]
Mode = Annotated[
    ModeWord | None,
    typer.Option(
        metavar="live|batch",
        help="batch: the provider's Batch API, half the price, an answer within hours.",
        rich_help_panel=SENDING,
    ),
]
Fallback = Annotated[
    FallbackWord | None,
    typer.Option(
        metavar="batch|live|none",
        help="What a batch left open: another batch, ask live, or the row's error.",
        rich_help_panel=SENDING,
    ),
]
PriorityOption = Annotated[
    Priority | None,
    typer.Option(metavar="high|normal|low", help="Among calls of this process to one model.", rich_help_panel=SENDING),
]
Timeout = Annotated[float | None, typer.Option(metavar="SECONDS", help="For one attempt; 60.", rich_help_panel=SENDING)]
MaxAttempts = Annotated[
    int | None, typer.Option(metavar="N", help="Attempts a row after faults; 5.", rich_help_panel=SENDING)
]
Reask = Annotated[
    int | None, typer.Option(metavar="N", help="Further asks after an invalid reply; 1.", rich_help_panel=SENDING)
]
Hedge = Annotated[
    bool | None,
    typer.Option("--hedge/--no-hedge", help="Send the slowest requests a second time.", rich_help_panel=SENDING),
]

Budget = Annotated[
    str | None,
    typer.Option(
        metavar="AMOUNT",
        help="Dollars, or usd=5,calls=1000,tokens=1e6,seconds=600; reached, the sending stops.",
        rich_help_panel=LIMITS,
    ),
]
Prices = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="TOML table of your own prices, in $ a million tokens.", rich_help_panel=LIMITS),
]
RequestsPerMinute = Annotated[
    float | None, typer.Option(metavar="N", help="Learnt from the server when not said.", rich_help_panel=LIMITS)
]
TokensPerMinute = Annotated[
    float | None, typer.Option(metavar="N", help="Learnt from the server when not said.", rich_help_panel=LIMITS)
]
MaxConcurrency = Annotated[
    int | None,
    typer.Option(metavar="N", help="Most requests in flight; 256, found while it runs.", rich_help_panel=LIMITS),
]

Cache = Annotated[
    str | None,
    typer.Option(
        metavar="PATH|refresh|off",
        help="Where answers are kept; `llmframe cache info` shows the usual place.",
        rich_help_panel=KEPT,
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, at the end.", rich_help_panel=THIS)]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress, no report; warnings stay.", rich_help_panel=THIS)
]
Config = Annotated[
    Path | None,
    typer.Option(metavar="JOB.TOML", help="A file with these options, for git.", rich_help_panel=THIS),
]
Roots = Annotated[
    list[str] | None,
    typer.Option(
        "--root",
        metavar="PLACE",
        help="Where else the job file's paths may lead: a folder, s3://bucket, a server; repeatable.",
        rich_help_panel=THIS,
    ),
]
