"""The application to go live: the shop says who it is, and the operator decides."""

from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.request import FormProblem, Problem, RefusedForm
from laari.edge.pages.routes import PageRoute, Routes
from laari.errors import LaariError
from laari.http.messages import Reply
from laari.rules.banking.bank_accounts import not_valid
from laari.rules.banking.bank_file import MAX_HOLDER
from laari.rules.money import MAX_MONEY, read_rufiyaa
from laari.rules.records import BankDetails
from laari.store.merchants import applications
from laari.store.merchants.applications import ApplicationFields

PATH = "/application"
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
NO_VOLUME = FormProblem(422, "The expected sales must be an amount in rufiyaa, such as 50,000.")


async def show(request: DashboardRequest) -> Reply:
    latest = await request.backend.ask(applications.latest_of, request.merchant.id)
    return request.page("application.html", application=latest, texts=TEXTS)


async def submit(request: DashboardRequest) -> Reply | Problem:
    answers = read_answers(request.form)
    await request.confirm()
    try:
        await request.backend.write(
            applications.submit, request.actor, request.merchant.id, answers
        )
    except LaariError:
        return FormProblem(409, "This shop is approved for live mode already.")
    return request.redirect(PATH, done="applied")


def read_answers(form: dict[str, str]) -> ApplicationFields:
    texts: dict[str, str | None] = {}
    for name, (label, longest) in TEXTS.items():
        text = " ".join(form.get(name, "").split())
        if name == "tax_number" and not text:
            texts[name] = None
        elif not 1 <= len(text) <= longest or not text.isprintable():
            message = f"{label}: enter 1 to {longest} printable characters."
            raise RefusedForm(FormProblem(422, message))
        else:
            texts[name] = text
    texts["bank_account"] = number = str(texts["bank_account"]).replace(" ", "")
    refusal = not_valid(BankDetails(str(texts["bank_holder"]), str(texts["bank_name"]), number))
    if refusal is not None:
        raise RefusedForm(FormProblem(422, refusal.message))
    volume = read_rufiyaa(form.get("monthly_volume", ""))
    if volume is None or not 0 <= volume <= MAX_MONEY:
        raise RefusedForm(NO_VOLUME)
    return ApplicationFields(**texts, monthly_volume=volume)  # type: ignore[arg-type]


async def withdraw(request: DashboardRequest) -> Reply:
    await request.backend.write(applications.withdraw, request.actor, request.merchant.id)
    return request.redirect(PATH, done="application_withdrawn")


ROUTES: Routes = [
    PageRoute(DashboardRequest, PATH, get=show, post=submit, needs="bank.manage"),
    PageRoute(DashboardRequest, f"{PATH}/withdraw", post=withdraw, page=show, needs="bank.manage"),
]
