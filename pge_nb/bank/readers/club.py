"""Reader of the task `registration`: what becomes of forms, and of those who log in."""

import importlib
from typing import Any


def registered(forms: list[dict[str, str]]) -> list[Any]:
    """What new accounts answer to each form in turn: "stored", or the faults."""
    return answered(opened_accounts(), forms)


def opened(forms: list[dict[str, str]], name: str, password: str) -> Any:
    """Whether one may log in once these forms were registered."""
    accounts = opened_accounts()
    answered(accounts, forms)
    return accounts.log_in(name, password)


def opened_accounts() -> Any:
    """New accounts, whose hashes are quick ones: many inputs must not take minutes."""
    module = importlib.import_module("accounts")
    setattr(module, "ROUNDS", 2)  # noqa: B010 - the module is only known where this runs
    return module.Accounts()


def answered(accounts: Any, forms: list[dict[str, str]]) -> list[Any]:
    """The answers to forms."""
    answers: list[Any] = []
    for form in forms:
        try:
            accounts.register(form)
        except ValueError as error:
            answers.append(getattr(error, "faults", None))
        else:
            answers.append("stored")
    return answers
