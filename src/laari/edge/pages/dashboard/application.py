"""The application to go live: the shop says who it is, and the operator decides."""

from msgspec.structs import asdict

from laari.edge.pages.dashboard.forms import form
from laari.edge.pages.dashboard.request import NOTHING, DashboardRequest
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.operations.applications import SUBMIT, WITHDRAW
from laari.operations.fields import FieldError, Text
from laari.operations.merchants import RENAME
from laari.rules.banking.bank_accounts import not_valid, read_details
from laari.rules.money import rufiyaa
from laari.rules.records.bank_accounts import BankDetails
from laari.rules.records.merchants import ApplicationAnswers
from laari.store.reads.merchants import applications

PATH = "/application"
WRONG = "Some answers are not valid. Nothing was sent: correct them below."
ANSWER_DAYS = 5  # working days in which a shop may expect the decision
LABELS = {
    "legal_name": "Legal name of the business",
    "registration_number": "Registration number",
    "tax_number": "Tax number, if registered for tax",
    "address": "Address of the business",
    "bank_name": "Bank",
    "bank_holder": "Holder of the bank account",
    "bank_account": "Number of the bank account",
    "contact": "Contact person, with phone or email",
}
# The label and the most characters of each text.
TEXTS = {
    each.name: (LABELS[each.name], each.kind.longest)
    for each in SUBMIT.fields
    if isinstance(each.kind, Text)
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
    await request.act(SUBMIT, request.merchant, answers)
    return request.redirect(PATH, done=SUBMIT.name)


def read_answers(form: dict[str, str]) -> dict[str, object]:
    """Refuses the form with the reasons of all fields at once."""
    written = {each.name: " ".join(form.get(each.name, "").split()) for each in SUBMIT.fields}
    answers, wrong = dict[str, object](), dict[str, str]()
    for field in SUBMIT.fields:
        try:
            answers[field.name] = field.read(written[field.name], on_page=True)
        except FieldError as error:
            wrong[field.name] = f"This {error}"
    given = read_details(*(written[name] for name in _BANK_FIELDS))
    for (name, part), value in zip(_BANK_FIELDS.items(), given, strict=True):
        refusal = not_valid(_A_BANK._replace(**{part: value}))
        if refusal is not None:
            wrong.setdefault(name, refusal.message)
    if wrong:
        raise RefusedForm(422, WRONG, fields=wrong)
    return answers


async def withdraw(request: DashboardRequest) -> Reply:
    await request.act(WITHDRAW, request.merchant, NOTHING)
    return request.redirect(PATH, done=WITHDRAW.name)


ROUTES: Routes = [
    PageRoute(
        DashboardRequest,
        PATH,
        get=show,
        post=submit,
        needs=SUBMIT.needs,
        runs={SUBMIT.name: {}},
    ),
    form(f"{PATH}/name", RENAME, show, PATH),
    PageRoute(
        DashboardRequest,
        f"{PATH}/withdraw",
        post=withdraw,
        page=show,
        needs=WITHDRAW.needs,
        runs={WITHDRAW.name: {}},
    ),
]
