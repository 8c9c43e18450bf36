"""The least that a Django project needs for one payment."""

from __future__ import annotations

import os
import secrets

SECRET_KEY = os.environ.get("DJANGO_SECRET_KEY") or secrets.token_hex()
DEBUG = True
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "testserver"]
ROOT_URLCONF = "shop.urls"
INSTALLED_APPS = ["payments", "shop"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("SHOP_DATABASE", "shop.db"),
        "OPTIONS": {"transaction_mode": "IMMEDIATE"},  # two webhooks at once wait for each other
    }
}

PAYMENT_MODEL = "shop.Payment"
PAYMENT_HOST = os.environ.get("SHOP_HOST", "127.0.0.1:5000")
PAYMENT_USES_SSL = False  # True for a shop that customers use
PAYMENT_VARIANTS = {
    "laari": (
        "laari_payments.LaariProvider",
        {
            "url": os.environ.get("LAARI_URL", "http://127.0.0.1:8000"),
            "secret_key": os.environ.get("LAARI_SECRET_KEY", ""),
            "sandbox": True,  # False for a merchant that is live
        },
    )
}
