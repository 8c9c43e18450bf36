"""The application to go live: the shop says who it is, and the operator decides."""

from msgspec.structs import asdict

from laari.edge.pages.dashboard.forms import form
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.request import FormProblem, RefusedForm
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.operations.merchants import RENAME
from laari.rules.banking.bank_accounts import not_valid, read_details
from laari.rules.banking.bank_file import MAX_HOLDER
from laari.rules.merchants.applications import SubmitApplication, WithdrawApplication
from laari.rules.money import MAX_MONEY, read_rufiyaa, rufiyaa
from laari.rules.records.bank_accounts import BankDetails
from laari.rules.records.merchants import ApplicationAnswers
from laari.store.reads.merchants import applications

PATH = "/application"
WRONG = "Some answers are not valid. Nothing was sent: correct them below."
ANSWER_DAYS = 5  # working days in which a shop may expect the decision
# The label and the most characters of each text; the tax number may be empty.
TEXTS = {
    "legal_name": ("Legal name of the business", 255),
    "registration_number": ("Registration number", 100),
    "tax_number": ("Tax number, if registered for tax", 100),
    "address": ("Address of the business", 500),
    "bank_name": ("Bank", MAX_HOLDER),
    "bank_holder": ("Holder of the bank account", MAX_HOLDER),
    "bank_account": ("Number of the bank account", 40),
    "contact": ("Contact person, with phone or email", 255),
}
VOLUME = "monthly_volume"
# The fields about the bank account, each checked beside valid others.
_BANK_FIELDS = {"bank_holder": "holder", "bank_name": "bank", "bank_account": "account_number"}
_A_BANK = BankDetails("A", "BML", "0000")


async def show(request: DashboardRequest) -> Reply:
    """The form begins with the answers of the last application."""
    latest = await request.backend.ask(applications.latest_of, request.merchant.id)
    sent = {} if latest is None else _written(latest.answers)
    return request.page(
        "application.html",
        application=latest,
        texts=TEXTS,
        sent=sent,
        written=request.form or sent,
        days=ANSWER_DAYS,
    )


def _written(answers: ApplicationAnswers) -> dict[str, str]:
    """The answers as the form has them."""
    given = {name: value or "" for name, value in asdict(answers).items()}
    return {**given, VOLUME: rufiyaa(answers.monthly_volume)}


async def submit(request: DashboardRequest) -> Reply:
    answers = read_answers(request.form)
    await request.confirm()
    await request.submit(SubmitApplication(request.actor, request.merchant.id, answers))
    return request.redirect(PATH, done="applied")


def read_answers(form: dict[str, str]) -> ApplicationAnswers:
    """Refuses the form with the reasons of all fields at once."""
    wrong: dict[str, str] = {}
    texts: dict[str, str | None] = {}
    for name, (_, longest) in TEXTS.items():
        text = " ".join(form.get(name, "").split())
        texts[name] = text or None
        if text == "" and name == "tax_number":
            continue
        if not 1 <= len(text) <= longest or not text.isprintable():
            wrong[name] = f"Enter 1 to {longest} printable characters."
    given = read_details(*(texts[name] or "" for name in _BANK_FIELDS))
    for (name, part), value in zip(_BANK_FIELDS.items(), given, strict=True):
        texts[name] = value
        refusal = not_valid(_A_BANK._replace(**{part: value}))
        if refusal is not None:
            wrong.setdefault(name, refusal.message)
    volume = read_rufiyaa(form.get(VOLUME, ""))
    if volume is None or not 0 <= volume <= MAX_MONEY:
        wrong[VOLUME] = "Enter an amount in rufiyaa, such as 50,000."
    if wrong:
        raise RefusedForm(422, WRONG, fields=wrong)
    return ApplicationAnswers(**texts, monthly_volume=volume)  # type: ignore[arg-type]


async def withdraw(request: DashboardRequest) -> Reply:
    await request.submit(WithdrawApplication(request.actor, request.merchant.id))
    return request.redirect(PATH, done="application_withdrawn")


ROUTES: Routes = [
    PageRoute(DashboardRequest, PATH, get=show, post=submit, needs="bank.manage"),
    form(f"{PATH}/name", RENAME, show, PATH),
    PageRoute(DashboardRequest, f"{PATH}/withdraw", post=withdraw, page=show, needs="bank.manage"),
]
