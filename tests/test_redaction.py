from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pge_nb.redaction import REDACTED, Redactor

KEY = "sk-ant-0123456789abcdef"


def redactor(environ: dict[str, str] | None = None, **settings: object) -> Redactor:
    return Redactor(environ or {}, home="/home/ada", **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "GITHUB_TOKEN_2",
        "aws_secret_access_key",
        "PGPASSWORD",
        "MYSQL_PWD",
        "DB_PASS",
    ],
)
def test_values_of_telling_names_are_redacted(name):
    assert redactor({name: KEY}).text(f"the key is {KEY}.") == f"the key is {REDACTED}."


@pytest.mark.parametrize("name", ["PATH", "PWD", "OLDPWD", "LANG", "KEYBOARD_LAYOUT", "SSH_AUTH_SOCK", "AUTHOR_NAME"])
def test_ordinary_values_stay(name):
    assert (
        redactor({name: "/usr/local/bin:/usr/bin"}).text("in /usr/local/bin:/usr/bin") == "in /usr/local/bin:/usr/bin"
    )


def test_short_values_stay():
    assert redactor({"API_KEY": "eleven-char"}).text("eleven-char") == "eleven-char"
    assert redactor({"API_KEY": "twelve-chars"}).text("twelve-chars") == REDACTED


@pytest.mark.parametrize("value", ["sum_of_numbers", "_private_name", "ordinarywords", "größtmögliche_summe"])
def test_a_value_that_is_a_word_or_a_name_of_code_stays(value):
    assert redactor({"BUILD_TOKEN": value}).text(f"{value} = a + b") == f"{value} = a + b"


@pytest.mark.parametrize(
    "value", ["sum_of_2_numbers", "correct-horse-battery", "AKIAIOSFODNN7EXAMPLE", "ghp_16C7e42F292c"]
)
def test_a_value_with_a_digit_or_a_sign_is_a_secret(value):
    assert redactor({"BUILD_TOKEN": value}).text(f"{value} = a + b") == f"{REDACTED} = a + b"


def test_home_paths_stay_in_what_others_wrote():
    text = f"open('/home/ada/app/data.csv') {KEY}"
    clean = f"open('/home/ada/app/data.csv') {REDACTED}"
    assert redactor(keys=[KEY]).text(text) == clean
    assert redactor(keys=[KEY]).json({"text": [text]}) == {"text": [clean]}


def test_a_key_that_begins_with_another_leaves_no_tail():
    both = redactor({"A_KEY": KEY, "B_KEY": KEY + "-and-more"})
    assert both.text(f"{KEY}-and-more {KEY}") == f"{REDACTED} {REDACTED}"


def test_credentials_of_the_base_url_are_redacted_and_the_host_stays():
    environ = {"ANTHROPIC_BASE_URL": "https://user-of-proxy:pass-of-proxy@proxy.example/x?code=query-of-proxy"}
    text = redactor(environ).text("user-of-proxy pass-of-proxy query-of-proxy proxy.example")
    assert text == f"{REDACTED} {REDACTED} {REDACTED} proxy.example"


def test_the_password_of_any_url_is_redacted():
    environ = {"HTTPS_PROXY": "http://ada:a%2Flong%2Fpassword@proxy.example"}
    assert redactor(environ).text("a/long/password a%2Flong%2Fpassword") == f"{REDACTED} {REDACTED}"


def test_values_of_custom_headers_are_redacted():
    environ = {"ANTHROPIC_CUSTOM_HEADERS": "X-Tenant: tenant-number-one\nAuthorization: Bearer bearer-of-one"}
    text = redactor(environ).text("tenant-number-one, Bearer bearer-of-one, bearer-of-one")
    assert text == f"{REDACTED}, {REDACTED}, {REDACTED}"


def test_a_key_handed_over_later_is_redacted_with_and_without_its_newline():
    assert redactor(keys=[KEY + "\n"]).text(f"{KEY}!") == f"{REDACTED}!"


def test_json_is_redacted_to_the_last_string_and_keeps_its_shape():
    value = {"a": [KEY, 1, None, True, 2.5], KEY: {"b": f"x{KEY}y"}}
    assert redactor(keys=[KEY]).json(value) == {"a": [REDACTED, 1, None, True, 2.5], REDACTED: {"b": f"x{REDACTED}y"}}


def test_the_home_directory_becomes_a_tilde_only_as_a_path_of_its_own():
    text = "/home/ada/x '/home/ada' /home/ada. /home/adam/x /mnt/home/ada/x /home/ada.old file:///home/ada/y"
    assert redactor().sentence(text) == "~/x '~' ~. /home/adam/x /mnt/home/ada/x /home/ada.old file://~/y"


def test_a_home_at_the_root_redacts_nothing():
    assert Redactor({}, home="/").sentence("/usr/bin") == "/usr/bin"


@given(st.lists(st.text(min_size=12, max_size=20), max_size=4), st.lists(st.text(max_size=8), max_size=6))
def test_no_secret_survives(secrets, between):
    secrets = [secret for secret in secrets if len(secret.strip()) >= 12]
    text = "".join(part + secret for part, secret in zip(between, secrets * 3, strict=False))
    clean = Redactor({}, home="", keys=secrets).text(text).replace(REDACTED, "\0")
    assert not [secret for secret in secrets if secret in clean and "\0" not in secret]


@given(st.text())
def test_redacting_twice_is_redacting_once(text):
    once = redactor(keys=[KEY]).sentence(text + KEY)
    assert redactor(keys=[KEY]).sentence(once) == once
