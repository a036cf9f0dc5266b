//! Names of images, as container engines take them.
//!
//! ```text
//! image     = [ domain "/" ] path [ ":" tag ] [ "@" digest ]
//! domain    = host [ ":" port ], where host has a dot, is `localhost`, or has a port
//! path      = component { "/" component }
//! component = letters and digits, with `.`, `_`, `__` or any number of `-` in between
//! ```

/// Whether this is the name of an image. The error says what is wrong.
pub fn check_pull_spec(image: &str) -> Result<(), String> {
    if image.len() == 64
        && image
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'f' | b'0'..=b'9'))
    {
        return Err("64 hexadecimal digits are the id of an image, not its name".to_owned());
    }
    let (domain, rest) = split_domain(image);
    let (name, digest) = match rest.split_once('@') {
        None => (rest, None),
        Some((name, digest)) => (name, Some(digest)),
    };
    let (path, tag) = match name.split_once(':') {
        None => (name, None),
        Some((path, tag)) => (path, Some(tag)),
    };
    if path.is_empty() {
        return Err("the name is empty".to_owned());
    }
    if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(format!("{path:?} has capital letters"));
    }
    check_domain(domain)?;
    path.split('/').try_for_each(check_component)?;
    let implied = if domain == "docker.io" && !path.contains('/') {
        "library/".len()
    } else {
        0
    };
    if domain.len() + 1 + implied + path.len() > 255 {
        return Err("the name is longer than 255 characters".to_owned());
    }
    tag.map_or(Ok(()), check_tag)?;
    digest.map_or(Ok(()), check_digest)
}

/// What stands before the first slash is only a domain if it looks like one.
fn split_domain(image: &str) -> (&str, &str) {
    match image.split_once('/') {
        Some((domain, rest)) if domain.contains(['.', ':']) || domain == "localhost" => {
            let domain = if domain == "index.docker.io" {
                "docker.io"
            } else {
                domain
            };
            (domain, rest)
        }
        _ => ("docker.io", image),
    }
}

fn check_domain(domain: &str) -> Result<(), String> {
    let wrong = || Err(format!("{domain:?} is not the name of a registry"));
    let (host, port) = match domain.split_once(':') {
        None => (domain, None),
        Some((host, port)) => (host, Some(port)),
    };
    let label = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let number = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    if host.split('.').all(label) && port.is_none_or(number) {
        Ok(())
    } else {
        wrong()
    }
}

fn check_component(component: &str) -> Result<(), String> {
    let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let wrong = |problem: &str| Err(format!("{component:?} in its path {problem}"));
    let at_ends = [component.bytes().next(), component.bytes().next_back()];
    if !at_ends.iter().all(|end| end.is_some_and(word)) {
        return wrong("does not begin and end with a letter or digit");
    }
    for between in component.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit()) {
        let dashes = between.bytes().all(|byte| byte == b'-');
        if !dashes && !matches!(between, "." | "_" | "__") {
            return wrong(&format!("has {between:?} between letters"));
        }
    }
    Ok(())
}

fn check_tag(tag: &str) -> Result<(), String> {
    let first = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let good = tag.len() <= 128
        && tag.bytes().next().is_some_and(first)
        && tag
            .bytes()
            .all(|byte| first(byte) || byte == b'.' || byte == b'-');
    if good {
        Ok(())
    } else {
        Err(format!("{tag:?} is not a tag"))
    }
}

fn check_digest(digest: &str) -> Result<(), String> {
    let Some((algorithm, hex)) = digest.split_once(':') else {
        return Err(format!("{digest:?} is not a digest: expected sha256:…"));
    };
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => {
            return Err(format!(
                "digests of {algorithm:?} are not known: use sha256"
            ));
        }
    };
    if hex.len() != length || !hex.bytes().all(|b| matches!(b, b'a'..=b'f' | b'0'..=b'9')) {
        return Err(format!(
            "a digest of {algorithm} has {length} hexadecimal digits"
        ));
    }
    Ok(())
}
