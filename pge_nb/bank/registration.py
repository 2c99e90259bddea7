"""Practice task: the rules of a registration form, and the accounts that come of it."""

from __future__ import annotations

from .oracles.registration import ORACLES
from .values import Defect, PracticeStep, PracticeTask, by_command, by_file, by_judge, by_oracle, criterion, planned

RULES = r'''"""What a registration form must hold."""

import re

NAME = re.compile(r"[A-Za-z0-9_]{3,20}")
EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+")


def faults(form: dict[str, str]) -> dict[str, str]:
    """Give what is wrong with a form, field by field; an empty dict where nothing is.

    "name" has 3 to 20 letters, digits or _. "email" has one @, and a point behind it. "password" has at least 8
    characters, a letter and a digit among them, and the name nowhere in it, in whatever case.
    A missing field counts as an empty one. Spaces around name and email do not count.
    """
    name, email = form.get("name", "").strip(), form.get("email", "").strip()
    password = form.get("password", "")
    found = {}
    if NAME.fullmatch(name) is None:
        found["name"] = "3 to 20 letters, digits or _"
    if EMAIL.fullmatch(email) is None:
        found["email"] = "no address"
    if len(password) < 8:
        found["password"] = "at least 8 characters"
    elif not any(map(str.isalpha, password)) or not any(map(str.isdigit, password)):
        found["password"] = "a letter and a digit"
    elif name and name.lower() in password.lower():
        found["password"] = "without the name"
    return found
'''

ADA = "{'name': 'ada', 'email': 'ada@example.org', 'password': 'engine 1843'}"

STEP_1 = PracticeStep(
    number=1,
    deliverables=("rules.py",),
    checks=(
        by_oracle("faults names every field that breaks a rule, and no other.", "registration/faults"),
        by_command(
            "faults leaves the form as it was.",
            "python",
            "-c",
            f"from rules import faults; form = {ADA} | {{'name': ' ada '}}; faults(form); print(repr(form['name']))",
            prints="' ada '",
        ),
        by_judge("The docstring of faults says what becomes of a field that is missing."),
    ),
    first_checks=(0, 1),
    objection="Forms come incomplete: add a check that the docstring of faults says what becomes of a missing field.",
    solution={"rules.py": RULES},
    defects=(
        Defect(
            id="names-of-any-length",
            says="faults takes names of more than 20 characters.",
            path="rules.py",
            old="{3,20}",
            new="{3,}",
            breaks=("c1",),
            costs={"correctness": 2.0},
        ),
        Defect(
            id="name-begins-well",
            says="faults takes a name that only begins with allowed characters.",
            path="rules.py",
            old="NAME.fullmatch(",
            new="NAME.match(",
            breaks=("c1",),
            costs={"correctness": 2.5, "safety": 2.0},
        ),
        Defect(
            id="domain-without-point",
            says="faults takes an address without a point behind its @.",
            path="rules.py",
            old=r"(?:\.[^@\s.]+)+",
            new=r"(?:\.[^@\s.]+)*",
            breaks=("c1",),
            costs={"correctness": 1.5},
        ),
        Defect(
            id="eight-refused",
            says="faults refuses a password of exactly 8 characters.",
            path="rules.py",
            old="len(password) < 8",
            new="len(password) <= 8",
            breaks=("c1",),
            costs={"correctness": 2.0},
        ),
        Defect(
            id="digit-not-needed",
            says="faults takes a password without a digit.",
            path="rules.py",
            old=" or not any(map(str.isdigit, password))",
            new="",
            breaks=("c1",),
            costs={"safety": 3.0},
        ),
        Defect(
            id="name-in-capitals-taken",
            says="faults finds the name in the password in the same case alone.",
            path="rules.py",
            old="name.lower() in password.lower()",
            new="name in password",
            breaks=("c1",),
            costs={"safety": 2.5},
        ),
        Defect(
            id="fields-alone",
            says="faults gives the faulty fields in a list and leaves out what is wrong with them.",
            path="rules.py",
            old="    return found\n",
            new="    return list(found)\n",
            breaks=("c1",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="form-stripped-in-place",
            says="faults takes the spaces out of the caller's own form.",
            path="rules.py",
            old='    password = form.get("password", "")\n',
            new='    password = form.get("password", "")\n    form |= {"name": name, "email": email}\n',
            breaks=("c2",),
            costs={"correctness": 1.5, "clarity": 1.0},
        ),
        Defect(
            id="missing-undocumented",
            says="The docstring of faults is silent about a missing field.",
            path="rules.py",
            old="A missing field counts as an empty one. Spaces",
            new="Spaces",
            breaks=("c3",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

ACCOUNTS = r'''"""Accounts: who has registered, and who may log in."""

import hashlib
import hmac
import secrets

from rules import faults

ROUNDS = 200_000


class Refused(ValueError):
    """A form that was refused; `faults` says why, field by field."""

    def __init__(self, found: dict[str, str]) -> None:
        super().__init__(", ".join(f"{field}: {why}" for field, why in found.items()))
        self.faults = found


class Accounts:
    """Accounts by name in lower case. Of a password only a salted hash is stored."""

    def __init__(self) -> None:
        self.stored: dict[str, dict[str, str]] = {}

    def register(self, form: dict[str, str]) -> None:
        """Store an account for a form.

        Names and addresses that differ in case alone are the same. Raises Refused, and stores nothing, where a field breaks
        a rule or where its name or address is "taken".
        """
        found = faults(form)
        name, email = form.get("name", "").strip(), form.get("email", "").strip().lower()
        if name.lower() in self.stored:
            found.setdefault("name", "taken")
        if any(account["email"] == email for account in self.stored.values()):
            found.setdefault("email", "taken")
        if found:
            raise Refused(found)
        salt = secrets.token_hex(16)
        account = {"name": name, "email": email, "salt": salt, "hash": hashed(form["password"], salt)}
        self.stored[name.lower()] = account

    def log_in(self, name: str, password: str) -> bool:
        """Tell whether there is such an account and this is its password."""
        account = self.stored.get(name.strip().lower())
        return account is not None and hmac.compare_digest(account["hash"], hashed(password, account["salt"]))


def hashed(password: str, salt: str) -> str:
    """Hash a password slowly, so that guessing takes long."""
    return hashlib.pbkdf2_hmac("sha256", password.encode(), bytes.fromhex(salt), ROUNDS).hex()
'''

STEP_2 = PracticeStep(
    number=2,
    deliverables=("accounts.py",),
    checks=(
        by_oracle("register stores sound forms and refuses the others, with every reason.", "registration/register"),
        by_oracle("log_in opens to the right password alone.", "registration/log_in"),
        by_command(
            "Nothing that is stored holds the password, and equal passwords have different hashes.",
            "python",
            "-c",
            f"from accounts import Accounts; a = Accounts(); form = {ADA}; a.register(form);"
            " a.register(form | {'name': 'bob', 'email': 'bob@example.org'});"
            " print('engine' not in str(a.stored), len({one['hash'] for one in a.stored.values()}))",
            prints="True 2",
        ),
        by_file(
            "Passwords are hashed in at least 100,000 rounds.",
            "accounts.py",
            matches=r"(?m)^ROUNDS = [1-9]\d{2}_?\d{3}",
        ),
        by_judge("The docstring of register says that names which differ in case alone are the same."),
    ),
    first_checks=(0, 1, 2, 4),
    objection="A quick hash is guessed quickly: add a check of the number of rounds.",
    solution={"accounts.py": ACCOUNTS},
    defects=(
        Defect(
            id="case-makes-a-name",
            says="register takes a name again that differs in case alone.",
            path="accounts.py",
            old="if name.lower() in self.stored:",
            new="if name in self.stored:",
            breaks=("c1",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="address-used-twice",
            says="register takes an address that another account has.",
            path="accounts.py",
            old='        if any(account["email"] == email for account in self.stored.values()):\n'
            '            found.setdefault("email", "taken")\n',
            new="",
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="case-makes-an-address",
            says="register takes an address again that differs in case alone.",
            path="accounts.py",
            old='form.get("email", "").strip().lower()',
            new='form.get("email", "").strip()',
            breaks=("c1",),
            costs={"correctness": 2.0},
        ),
        Defect(
            id="name-as-typed-in-log-in",
            says="log_in knows a name only in lower case and without spaces around it.",
            path="accounts.py",
            old="self.stored.get(name.strip().lower())",
            new="self.stored.get(name)",
            breaks=("c2",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="unknown-name-crashes",
            says="log_in raises TypeError for a name that nobody has.",
            path="accounts.py",
            old="return account is not None and hmac",
            new="return hmac",
            breaks=("c2",),
            costs={"correctness": 2.0, "safety": 2.0},
        ),
        Defect(
            id="one-salt-for-all",
            says="register salts all passwords alike, so equal ones are seen to be equal.",
            path="accounts.py",
            old="salt = secrets.token_hex(16)",
            new='salt = hashlib.sha256(b"accounts").hexdigest()',
            breaks=("c3",),
            costs={"safety": 4.0},
        ),
        Defect(
            id="few-rounds",
            says="Passwords are hashed in 1,000 rounds, which a graphics card guesses through in no time.",
            path="accounts.py",
            old="ROUNDS = 200_000",
            new="ROUNDS = 1_000",
            breaks=("c4",),
            costs={"safety": 3.0},
        ),
        Defect(
            id="case-undocumented",
            says="The docstring of register is silent about case.",
            path="accounts.py",
            old="Names and addresses that differ in case alone are the same. Raises",
            new="Raises",
            breaks=("c5",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

TASK = PracticeTask(
    name="registration",
    title="Registration with checked forms",
    prompt=(
        "Our club's website needs user registration: name, e-mail address and password, with a clear message for each"
        " field that is wrong. Write it in Python without a framework."
        " Nobody may register a name or an address twice, members must be able to log in, and please do not"
        " store passwords as they are."
    ),
    plan={
        "title": "Registration with checked forms",
        "scope": "Two Python modules without dependencies: the rules of a form, and the accounts with their hashed passwords.",
        "deliverables": ["rules.py", "accounts.py"],
        "steps": [
            planned("Say what is wrong with a registration form.", STEP_1, skill="validation"),
            planned("Register accounts and let members log in.", STEP_2, skill="security", depends_on=(1,)),
        ],
        "criteria": [
            criterion("correctness", "Takes every sound form and refuses every other, field by field.", "high"),
            criterion(
                "safety", "Weak passwords are refused, and those that are stored cannot be read or guessed.", "high"
            ),
            criterion("clarity", "Reads well: names, docstrings that tell the edges.", "low"),
        ],
    },
    steps=(STEP_1, STEP_2),
    oracles=ORACLES,
)
