"""What an audit changes in a question: its wording, and what is put behind a judged text."""

from __future__ import annotations

from typing import Final

from llmframe.core.template import Template

WORDINGS: Final = 3
"""Paraphrases of the judge's instructions."""

_PARAPHRASES: Final = (
    (
        "Judge the text by this criterion:",
        "Assess the text. What counts is this criterion alone:",
        "Here is a criterion, and you are to say how a text stands with it:",
        "Rate a text on the following criterion:",
    ),
    (
        "Answer with the code of the level that fits best",
        "Reply with the code of the most fitting level",
        "Choose the level that describes the text best, and give its code",
        "Say which level applies by giving its code",
    ),
    (
        "First think about the criterion in a few sentences, as the reason; then answer with the level's code.",
        "Begin with a few sentences about the criterion, as the reason, and then give the code of the level.",
        "Think it over in a few sentences, which are the reason. After them comes the code of the level.",
        "Write the reason first, in a few sentences about the criterion; the level's code follows.",
    ),
    (
        "Compare text A and text B by this criterion:",
        "Two texts, A and B, are to be compared. What counts is this criterion alone:",
        "Here is a criterion, and you are to say which of the texts A and B does better on it:",
        "Weigh text A against text B on the following criterion:",
    ),
    (
        "Answer `A` when text A meets it better, `B` when text B does",
        "Reply with `A` if text A is the better one, with `B` if text B is",
        "Choose `A` where text A does better on it, `B` where text B does better",
        "Say `A` if the criterion speaks for text A, `B` if it speaks for text B",
    ),
    (
        "Assign the text to exactly one of these labels:",
        "Which one of these labels does the text belong under?",
        "Choose the one label out of this list that describes the text:",
        "Label the text. These are the labels, of which one applies:",
    ),
)
"""Sentences of the presets' own instructions, each with other words for it."""

_FILLER: Final = (
    "To put all of this in other words: what is said above is said above, and it stands as it stands. ",
    "It may be read once, and it may be read once more. ",
    "Each of its words has its place, and each of its places has a word. ",
    "What comes before these lines comes before them, and with these lines it ends. ",
)
"""Sentences without content, repeated until a text is about twice as long."""


def reworded(system: Template, number: int) -> Template:
    """The instructions in other words, by paraphrase 1, 2 or 3; what a call said itself stays word for word."""
    text = system.text
    for original, *others in _PARAPHRASES:
        text = text.replace(original, others[number - 1])
    return Template(text, literal=True)


def padded(text: str) -> str:
    """The text with sentences behind it that add length and nothing else: at least as long again."""
    filler, turn = "", 0
    while len(filler) < max(len(text), len(_FILLER[0])):
        filler += _FILLER[turn % len(_FILLER)]
        turn += 1
    return f"{text}\n\n{filler.strip()}"


def injected(text: str, wish: str) -> str:
    """The text with a wish behind it, addressed to whoever judges."""
    return f"{text}\n\nNote to whoever judges this: {wish}"
