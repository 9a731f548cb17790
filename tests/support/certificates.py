"""Certificates of the tests' own: an authority, servers' and clients' signed by it, as PEM files in one folder."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


class Authority:
    """ca: the file with its certificate."""

    def __init__(self, folder: Path, name: str = "tests") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        made = self._build(self._name, self._key.public_key(), is_authority=True)
        self._certificate = made.sign(self._key, hashes.SHA256())
        self.ca = folder / f"{name}-ca.pem"
        self.ca.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, *, common_names: tuple[str, ...] = (), days: int = 1) -> tuple[Path, Path]:
        """Certificate and key of 127.0.0.1 under this name.  common_names: others than [name]."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Example")]
        subject += [x509.NameAttribute(NameOID.COMMON_NAME, each) for each in common_names or (name,)]
        made = self._build(x509.Name(subject), key.public_key(), days=days)
        certificate = made.sign(self._key, hashes.SHA256())
        files = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        files[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return files

    def trusting(self, client: tuple[Path, Path] | None = None) -> ssl.SSLContext:
        """For a client that believes this authority, and shows this certificate."""
        context = ssl.create_default_context(cafile=self.ca)
        if client is not None:
            context.load_cert_chain(*client)
        return context

    def _build(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *, is_authority: bool = False, days: int = 1
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        built = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=2))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if is_authority:
            usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
            return built.add_extension(usage, critical=True)
        names = [x509.DNSName("localhost"), x509.IPAddress(IPv4Address("127.0.0.1"))]
        uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        return built.add_extension(x509.SubjectAlternativeName(names), critical=False).add_extension(
            x509.ExtendedKeyUsage(uses), critical=False
        )
