//! Whom TLS believes: the system's authorities, the operator's, and single certificates that the operator has named.
//!
//! In: the settings. Out: a [`ClientConfig`], and for a handshake that failed what was wrong, in words ([`tls_reason`]). An authority
//! vouches for others; webpki judges those. A certificate that the operator has named and that a server shows as its own needs nobody to vouch
//! for it, even if it calls itself an authority, as self-signed ones often do. That the server has its key, that it is in date and for the host that was asked
//! for is checked all the same. Start at [`client_tls`].

use std::io;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::{Date, date};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error,
    RootCertStore, SignatureScheme,
};

use crate::connect::reason;
use crate::{FetchConfig, FetchSetupError};

/// Hosts whose TLS sessions are remembered, so that the next connection needs no full handshake.
const TLS_SESSIONS: usize = 8192;

/// Names of a certificate that are told.
const NAMES_TOLD_MAX: usize = 5;

/// TLS by these settings.
///
/// # Errors
///
/// When what is to be trusted cannot be read.
pub fn client_tls(config: &FetchConfig) -> Result<ClientConfig, FetchSetupError> {
    let mut roots = RootCertStore::empty();
    if config.system_roots {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(%error, "some of the system's certificate authorities cannot be read");
        }
        let (added, _) = roots.add_parsable_certificates(found.certs);
        if added == 0 {
            tracing::warn!("the system has no certificate authorities; https will fail without extra ones");
        }
    }
    let mut named = Vec::new();
    for (index, pem) in config.extra_roots_pem.iter().enumerate() {
        let unusable = |reason: String| FetchSetupError::Certificate { number: index + 1, reason };
        let before = named.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
            roots.add(certificate.clone()).map_err(|error| unusable(error.to_string()))?;
            named.push(certificate);
        }
        if named.len() == before {
            return Err(unusable("there is no certificate in it".to_owned()));
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| FetchSetupError::Tls(error.to_string()))?;
    let mut tls = if named.is_empty() {
        builder.with_root_certificates(roots).with_no_client_auth()
    } else {
        let verifier = Verifier::new(roots, named, provider)?;
        // What is called dangerous is to bring a verifier of one's own.
        builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
    };
    tls.resumption = Resumption::in_memory_sessions(TLS_SESSIONS);
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(tls)
}

/// Takes certificates that were named for what they are, and leaves all others to webpki.
#[derive(Debug)]
struct Verifier {
    webpki: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl Verifier {
    fn new(
        roots: RootCertStore,
        named: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, FetchSetupError> {
        let webpki = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| FetchSetupError::Tls(error.to_string()))?;
        Ok(Self { webpki, named })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.named.iter().any(|named| named == end_entity) {
            check_named(end_entity, server_name, now)?;
            return Ok(ServerCertVerified::assertion());
        }
        self.webpki.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.webpki.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.webpki.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.webpki.supported_verify_schemes()
    }

    fn root_hint_subjects(&self) -> Option<&[DistinguishedName]> {
        self.webpki.root_hint_subjects()
    }
}

/// Whether a certificate that was named is in date, and the host's. One that names nobody is whoever's shows it and has its key.
fn check_named(
    certificate: &CertificateDer<'_>,
    server_name: &ServerName<'_>,
    now: UnixTime,
) -> Result<(), Error> {
    let parsed = ParsedCertificate::try_from(certificate)?;
    let (not_before, not_after) = validity(certificate).ok_or(CertificateError::BadEncoding)?;
    if now < not_before {
        return Err(CertificateError::NotValidYetContext { time: now, not_before }.into());
    }
    if now > not_after {
        return Err(CertificateError::ExpiredContext { time: now, not_after }.into());
    }
    match verify_server_name(&parsed, server_name) {
        Err(Error::InvalidCertificate(CertificateError::NotValidForNameContext { presented, .. }))
            if presented.is_empty() =>
        {
            Ok(())
        }
        judged => judged,
    }
}

/// From when and until when a certificate is valid, as it is written in it (RFC 5280, section 4.1). Of all that is in it webpki does not tell this.
fn validity(certificate: &[u8]) -> Option<(UnixTime, UnixTime)> {
    const VERSION: u8 = 0xa0;
    let mut certificate = sequence(&mut &*certificate)?;
    let mut fields = sequence(&mut certificate)?;
    // The version, where it is said; then serial number, algorithm, issuer.
    if element(&mut fields)?.0 == VERSION {
        element(&mut fields)?;
    }
    sequence(&mut fields)?;
    sequence(&mut fields)?;
    let mut times = sequence(&mut fields)?;
    Some((time(&mut times)?, time(&mut times)?))
}

fn sequence<'d>(der: &mut &'d [u8]) -> Option<&'d [u8]> {
    const SEQUENCE: u8 = 0x30;
    element(der).filter(|(tag, _)| *tag == SEQUENCE).map(|(_, value)| value)
}

/// Takes an element of DER off the front: its tag and its value.
fn element<'d>(der: &mut &'d [u8]) -> Option<(u8, &'d [u8])> {
    let (&[tag, first], mut rest) = der.split_first_chunk()?;
    let length = match first {
        0..=0x7f => usize::from(first),
        // So many bytes of length follow.
        0x81..=0x84 => {
            let (digits, behind) = rest.split_at_checked(usize::from(first & 0x7f))?;
            rest = behind;
            digits.iter().fold(0, |number, digit| number << 8 | usize::from(*digit))
        }
        _ => return None,
    };
    let (value, behind) = rest.split_at_checked(length)?;
    *der = behind;
    Some((tag, value))
}

/// Takes a time: `YYMMDDHHMMSSZ` up to 2049, else `YYYYMMDDHHMMSSZ`.
fn time(der: &mut &[u8]) -> Option<UnixTime> {
    const UTC_TIME: u8 = 0x17;
    const GENERALIZED_TIME: u8 = 0x18;
    const EPOCH: Date = date(1970, 1, 1);
    let (tag, text) = element(der)?;
    let two = |digits: &[u8]| match digits {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
            Some(i16::from(tens - b'0') * 10 + i16::from(ones - b'0'))
        }
        _ => None,
    };
    let (year, rest) = match tag {
        UTC_TIME => {
            let (year, rest) = text.split_at_checked(2)?;
            let year = two(year)?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        GENERALIZED_TIME => {
            let (year, rest) = text.split_at_checked(4)?;
            (two(&year[..2])? * 100 + two(&year[2..])?, rest)
        }
        _ => return None,
    };
    let parts: Vec<i16> = rest.strip_suffix(b"Z")?.chunks(2).map(two).collect::<Option<_>>()?;
    let &[month, day, hour, minute, second] = &parts[..] else { return None };
    let day = Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    let days = EPOCH.until(day).ok()?.get_days();
    let seconds =
        i64::from(days) * 86_400 + i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
    // What was valid before 1970 is valid from then on.
    Some(UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(seconds).unwrap_or(0))))
}

/// Why a handshake failed, in words, and what can be done about it.
pub fn tls_reason(error: &io::Error) -> String {
    let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => "it hung up in the middle of the TLS handshake".to_owned(),
            _ => reason(error),
        };
    };
    match tls {
        Error::InvalidCertificate(wrong) => certificate_reason(wrong),
        Error::NoCertificatesPresented => "it shows no certificate".to_owned(),
        Error::InvalidMessage(_) => "what it says is not TLS".to_owned(),
        Error::PeerIncompatible(_) | Error::AlertReceived(AlertDescription::ProtocolVersion) => {
            "it speaks no version of TLS that is safe; 1.2 and 1.3 are".to_owned()
        }
        Error::AlertReceived(AlertDescription::HandshakeFailure) => {
            "it ended the TLS handshake: it has no cipher in common with us, or no certificate for this name"
                .to_owned()
        }
        Error::AlertReceived(AlertDescription::UnrecognisedName) => {
            "it says that it has no certificate for this name".to_owned()
        }
        other => other.to_string(),
    }
}

fn certificate_reason(wrong: &CertificateError) -> String {
    match wrong {
        CertificateError::ExpiredContext { time, not_after } => {
            format!("its certificate expired on {}, and today is {}", day(*not_after), day(*time))
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            format!("its certificate is valid from {} on, and today is {}", day(*not_before), day(*time))
        }
        CertificateError::Expired => "its certificate is valid at no time".to_owned(),
        CertificateError::NotValidForNameContext { expected, presented } => {
            format!("its certificate is for {}, not for `{}`", names(presented), expected.to_str())
        }
        CertificateError::UnknownIssuer => {
            "its certificate is signed by nobody who is trusted; if you trust it, name a PEM file with it, or with the \
             authority that signed it, in `fetch.ca_files`"
                .to_owned()
        }
        // webpki says so in no other way.
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "its certificate is that of an authority, which vouches for others only; if you trust it, name a PEM file with \
             it in `fetch.ca_files`"
                .to_owned()
        }
        CertificateError::Revoked => "its certificate was revoked".to_owned(),
        CertificateError::BadSignature => "its certificate, or the handshake, is not signed by whom it says".to_owned(),
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "its certificate is signed in a way that is not supported, or not safe any more".to_owned()
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "its certificate is not for servers".to_owned()
        }
        CertificateError::BadEncoding => "its certificate cannot be read".to_owned(),
        CertificateError::UnhandledCriticalExtension => {
            "its certificate sets conditions that are not understood".to_owned()
        }
        other => format!("its certificate is not valid: {other}"),
    }
}

fn day(time: UnixTime) -> String {
    let timestamp = i64::try_from(time.as_secs()).ok().and_then(|second| Timestamp::from_second(second).ok());
    timestamp
        .map_or_else(|| "a day that never comes".to_owned(), |time| time.strftime("%Y-%m-%d").to_string())
}

/// What a certificate is for. The names come as webpki writes them down: `DnsName("a.example")`.
fn names(presented: &[String]) -> String {
    if presented.is_empty() {
        return "no host at all".to_owned();
    }
    let plain = |name: &String| {
        let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
        format!("`{}`", inner.unwrap_or(name).trim_matches('"'))
    };
    let mut told: Vec<String> = presented.iter().take(NAMES_TOLD_MAX).map(plain).collect();
    match presented.len() - told.len() {
        0 => {}
        more => told.push(format!("{more} more")),
    }
    match told.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_certificates() {
        for (tag, text, expected) in [
            (0x17, "700101000000Z", Some(0)),
            (0x17, "491231235959Z", Some(2_524_607_999)),
            (0x17, "500101000000Z", Some(0)),
            (0x18, "20500101000000Z", Some(2_524_608_000)),
            // What has no end is written so.
            (0x18, "99991231235959Z", Some(253_402_300_799)),
            (0x18, "20260230000000Z", None),
            (0x17, "260101000000", None),
            (0x17, "2601010000Z", None),
            (0x17, "26010100000xZ", None),
            (0x17, "2601010000000Z", None),
            (0x04, "260101000000Z", None),
            (0x18, "", None),
        ] {
            let mut der = vec![tag, text.len() as u8];
            der.extend(text.as_bytes());
            let seconds = time(&mut &*der).map(|time| time.as_secs());
            assert_eq!(seconds, expected, "{tag:#x} {text}");
        }
    }

    #[test]
    fn validity_is_found_and_broken_certificates_are_survived() {
        let mut params = rcgen::CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2020, 2, 29);
        params.not_after = rcgen::date_time_ymd(2051, 1, 1);
        let made = params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap();
        let der: &[u8] = made.der();
        let found = validity(der).map(|(from, until)| (from.as_secs(), until.as_secs()));
        assert_eq!(found, Some((1_582_934_400, 2_556_144_000)));
        for length in 0..der.len() {
            validity(&der[..length]);
            let mut bent = der.to_vec();
            bent[length] ^= 0xff;
            validity(&bent);
        }
    }

    #[test]
    fn names_are_told_in_words() {
        let presented = |count: usize| {
            (0..count).map(|number| format!("DnsName(\"{number}.example\")")).collect::<Vec<_>>()
        };
        for (presented, expected) in [
            (Vec::new(), "no host at all"),
            (presented(1), "`0.example`"),
            (presented(2), "`0.example` and `1.example`"),
            (presented(7), "`0.example`, `1.example`, `2.example`, `3.example`, `4.example` and 2 more"),
            (
                vec!["IpAddress(127.0.0.1)".to_owned(), "DirectoryName".to_owned()],
                "`127.0.0.1` and `DirectoryName`",
            ),
        ] {
            assert_eq!(names(&presented), expected);
        }
    }
}
