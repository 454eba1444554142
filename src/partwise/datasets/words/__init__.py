"""Words that say nothing of a text, by language; a further language is a file of words here."""

from __future__ import annotations

from importlib.resources import files

from partwise.exceptions import InputError

LANGUAGES = (
    "english",
    *sorted(one.name.removesuffix(".txt") for one in files(__name__).iterdir() if one.name.endswith(".txt")),
)


def stop_words(language: str) -> list[str]:
    """The words of a language that count no topic: articles, pronouns, prepositions, auxiliary verbs.

    Parameters
    ----------
    language : str
        One of ``LANGUAGES``; English ones are those of scikit-learn.

    Returns
    -------
    list of str
        In small letters.

    Examples
    --------
    >>> from partwise.datasets import stop_words
    >>> stop_words("german")[:4]
    ['aber', 'alle', 'allem', 'allen']
    """
    if language == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return sorted(ENGLISH_STOP_WORDS)
    if language not in LANGUAGES:
        raise InputError(
            f"{{parameter}} must be one of {', '.join(LANGUAGES)}, got {language!r}",
            parameter="language",
            kind="unknown",
        )
    return (files(__name__) / f"{language}.txt").read_text(encoding="utf-8").split()
