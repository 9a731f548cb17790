"""Principals from the subjects of client certificates."""

from __future__ import annotations

import pytest

from redis_ledger.auth.certificates import named_by, principal_of

ORGANISED = (
    (("countryName", "DE"),),
    (("organizationName", "Example, Inc."),),
    (("organizationalUnitName", "Analysis"),),
    (("commonName", "ada"),),
)


@pytest.mark.parametrize(
    ("subject", "way", "principal"),
    [
        (ORGANISED, "cn", "User:ada"),
        (ORGANISED, "dn", r"User:CN=ada,OU=Analysis,O=Example\, Inc.,C=DE"),
        (((("commonName", "a"), ("userId", "b")),), "dn", "User:CN=a+UID=b"),
        (((("commonName", " #a "),),), "dn", r"User:CN=\ #a\ "),
        (((("commonName", "ada"),), (("commonName", "admin"),)), "cn", None),  # which of them is meant?
        (((("organizationName", "Example"),),), "cn", None),
        (((("commonName", "ada\nadmin"),),), "cn", None),
        (((("commonName", "ada\0admin"),),), "dn", None),
        (((("commonName", "a" * 251),),), "cn", None),
        (((("commonName", ""),),), "cn", None),
        (((("commonName", "*"),),), "cn", None),  # matches all principals in a rule
        (((("commonName", " "),),), "cn", None),
        (((("commonName", "*.example"),),), "cn", "User:*.example"),
        ((), "dn", None),
    ],
)
def test_subject_has_one_principal_or_none(subject, way, principal):
    assert principal_of({"subject": subject}, way) == principal


@pytest.mark.parametrize("certificate", [None, {}])
def test_connection_without_certificate_is_anonymous(certificate):
    assert principal_of(certificate, "cn") is None


def test_certificate_principal_is_valid_until_the_certificate_expires():
    shown = {"subject": ((("commonName", "ada"),),), "notAfter": "Nov 22 10:00:00 2026 GMT"}
    assert named_by(shown, "cn") == ("User:ada", 1_795_341_600)
    assert named_by({**shown, "subject": ()}, "cn") is None
    assert named_by(None, "cn") is None
