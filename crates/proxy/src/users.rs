//! Users file: lines of `username:hash`, with an argon2id hash (RFC 9106) as a PHC string.
//!
//! Passwords in clear are rejected. `tandem proxy passwd` writes the file through [`edit`].

use crate::credentials::Credential;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Argon2, Params};
use core::fmt;
use sha2::{Digest, Sha256};
use std::io;
use std::sync::Arc;
use subtle::{ConditionallySelectable, ConstantTimeEq};

/// Upper limits of a hash's parameters: memory in KiB, passes, lanes. They bound the cost of a
/// verification, which clients trigger.
const MAX_COST: (u32, u32, u32) = (256 << 10, 16, 16);
/// Lower limit of memory in KiB times passes: half of the OWASP recommendation.
const MIN_COST_KIB: u32 = 19 << 10;
/// Salt of 16 and hash of 32 zero bytes, in base64.
const ZERO_SALT_AND_HASH: &str = "$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// User with the hash of the password.
#[derive(Clone, PartialEq, Eq)]
pub struct User {
    name: String,
    /// SHA-256 of the name: equal lengths allow a comparison in constant time.
    name_digest: [u8; 32],
    /// PHC string.
    hash: String,
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

impl User {
    fn new(name: &str, hash: String) -> Self {
        Self { name: name.to_owned(), name_digest: Sha256::digest(name.as_bytes()).into(), hash }
    }

    /// Username.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// PHC string.
    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }

    /// Computes the hash of `password` and compares it: some 20 ms and 19 MiB.
    pub(crate) fn has_password(&self, password: &str) -> bool {
        Argon2::default().verify_password(password.as_bytes(), &*self.hash).is_ok()
    }
}

/// Users with access.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Users {
    all: Arc<[Arc<User>]>,
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all.iter()).finish()
    }
}

impl Users {
    /// Parses lines of `username:hash`. Empty lines and lines that begin with `#` are ignored.
    ///
    /// # Errors
    /// The number of the first malformed or duplicate line, and the reason.
    pub fn parse(text: &str) -> Result<Self, (usize, &'static str)> {
        let mut all: Vec<Arc<User>> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim_end_matches('\r');
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let user = parse_line(line).map_err(|reason| (at + 1, reason))?;
            if all.iter().any(|other| other.name == user.name) {
                return Err((at + 1, "duplicate username"));
            }
            all.push(Arc::new(user));
        }
        Ok(Self { all: all.into() })
    }

    /// Adds a user, with the hash of the password.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn add(&mut self, one: &Credential) -> io::Result<()> {
        let user = User::new(&one.username, hash(&one.password)?);
        self.all = self.all.iter().cloned().chain([Arc::new(user)]).collect();
        Ok(())
    }

    /// Whether there are no users.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether the user has this name and still has this password.
    pub(crate) fn contains(&self, user: &User) -> bool {
        self.all.iter().any(|one| **one == *user)
    }

    /// Finds a user in constant time: visits every user. An unknown name yields a user without a
    /// valid password, whose verification takes as long as that of the first user.
    pub(crate) fn find(&self, name: &str) -> Found {
        let digest: [u8; 32] = Sha256::digest(name.as_bytes()).into();
        let mut found = u64::MAX;
        for (index, user) in (0..).zip(self.all.iter()) {
            found.conditional_assign(&index, user.name_digest.ct_eq(&digest));
        }
        match usize::try_from(found).ok().and_then(|index| self.all.get(index)) {
            Some(user) => Found::Known(Arc::clone(user)),
            None => Found::Unknown(Arc::new(self.dummy())),
        }
    }

    fn dummy(&self) -> User {
        let parsed = self.all.first().and_then(|user| PasswordHash::new(&user.hash).ok());
        let params = match parsed {
            Some(hash) => hash.params.to_string(),
            None => format!(
                "m={},t={},p={}",
                Params::DEFAULT_M_COST,
                Params::DEFAULT_T_COST,
                Params::DEFAULT_P_COST
            ),
        };
        User::new("", format!("$argon2id$v=19${params}{ZERO_SALT_AND_HASH}"))
    }
}

/// Result of a search for a user.
pub(crate) enum Found {
    /// A user of the file.
    Known(Arc<User>),
    /// Stand-in for an unknown user.
    Unknown(Arc<User>),
}

fn parse_line(line: &str) -> Result<User, &'static str> {
    let Some(Credential { username, password: hash }) = Credential::parse(line) else {
        return Err("not `username:hash`");
    };
    if !hash.starts_with("$argon2") {
        return Err("the password is in clear text");
    }
    let parsed = PasswordHash::new(&hash).map_err(|_| "malformed hash")?;
    if parsed.algorithm.as_str() != "argon2id" || parsed.version != Some(0x13) {
        return Err("a hash other than argon2id, version 19");
    }
    let mut names: Vec<String> = parsed.params.iter().map(|(name, _)| name.to_string()).collect();
    names.sort();
    let has_duplicates = names.windows(2).any(|pair| pair[0] == pair[1]);
    let params = Params::try_from(&parsed)
        .ok()
        // The last of several values would count, and a reader sees the first.
        .filter(|_| !has_duplicates)
        .ok_or("malformed parameters of the hash")?;
    let (memory, passes, lanes) = (params.m_cost(), params.t_cost(), params.p_cost());
    let has_salt_and_hash = parsed.salt.is_some() && parsed.hash.is_some_and(|hash| hash.len() >= 16);
    if memory > MAX_COST.0 || passes > MAX_COST.1 || lanes > MAX_COST.2 {
        return Err("the parameters of the hash demand more than 256 MiB, 16 passes or 16 lanes");
    }
    if !has_salt_and_hash || memory.saturating_mul(passes) < MIN_COST_KIB {
        return Err("the hash is too weak");
    }
    Ok(User::new(&username, hash))
}

/// Hash of a password with a random salt, as a PHC string.
///
/// # Errors
/// The system has no random numbers.
pub fn hash(password: &str) -> io::Result<String> {
    let hash: PasswordHash =
        Argon2::default().hash_password(password.as_bytes()).map_err(io::Error::other)?;
    Ok(hash.to_string())
}

/// Text of a users file with the line of one user replaced, appended, or removed without a `hash`.
/// Other lines stay. `None` if the user to remove is not in it.
pub fn edit(text: &str, name: &str, hash: Option<&str>) -> Option<String> {
    let is_line_of = |line: &str| line.split_once(':').is_some_and(|(user, _)| user == name);
    let mut new_line = hash.map(|hash| format!("{name}:{hash}\n"));
    let mut was_there = false;
    let mut edited = String::new();
    for line in text.lines() {
        if is_line_of(line) {
            was_there = true;
            edited.push_str(&new_line.take().unwrap_or_default());
        } else {
            edited.push_str(line);
            edited.push('\n');
        }
    }
    edited.push_str(&new_line.unwrap_or_default());
    (was_there || hash.is_some()).then_some(edited)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verify(users: &Users, name: &str, password: &str) -> bool {
        match users.find(name) {
            Found::Known(user) => user.has_password(password),
            Found::Unknown(user) => user.has_password(password),
        }
    }

    #[test]
    fn users_are_verified_by_username_and_password() {
        let ann = edit("# users\n", "ann", Some(&hash("secret:with colon").unwrap())).unwrap();
        let both = edit(&ann, "bob", Some(&hash("x").unwrap())).unwrap();
        let users = Users::parse(&both.replace("\nbob", "\n\nbob")).unwrap();
        assert!(verify(&users, "ann", "secret:with colon") && verify(&users, "bob", "x"));
        assert!(!verify(&users, "ann", "x") && !verify(&users, "bob", "secret:with colon"));
        assert!(!verify(&users, "eve", "x") && !verify(&Users::default(), "", "x"));
        assert!(Users::default().is_empty() && !users.is_empty());
        assert!(!format!("{users:?}").contains("argon2"));
    }

    #[test]
    fn clear_weak_costly_and_duplicate_lines_are_rejected() {
        let reason = |text: &str| Users::parse(text).unwrap_err();
        let phc = |head: &str| format!("ann:{head}{ZERO_SALT_AND_HASH}");
        assert_eq!(reason("\nann"), (2, "not `username:hash`"));
        assert_eq!(reason("ann:secret"), (1, "the password is in clear text"));
        assert_eq!(reason("ann:$argon2id$v=19$oops"), (1, "malformed hash"));
        let other = (1, "a hash other than argon2id, version 19");
        assert_eq!(reason(&phc("$argon2i$v=19$m=19456,t=2,p=1")), other);
        assert_eq!(reason(&phc("$argon2id$v=19$m=1024,t=2,p=1")), (1, "the hash is too weak"));
        assert_eq!(reason("ann:$argon2id$v=19$m=19456,t=2,p=1"), (1, "the hash is too weak"));
        assert!(reason(&phc("$argon2id$v=19$m=4194304,t=2,p=1")).1.contains("more than 256 MiB"));
        assert!(reason(&phc("$argon2id$v=19$m=19456,t=1000000,p=1")).1.contains("16 passes"));
        let twice = phc("$argon2id$v=19$m=4194304,t=2,p=1,m=19456");
        assert_eq!(reason(&twice), (1, "malformed parameters of the hash"));
        let good = phc("$argon2id$v=19$m=19456,t=2,p=1");
        assert_eq!(reason(&format!("{good}\n{good}")), (2, "duplicate username"));
    }

    #[test]
    fn unknown_user_costs_the_work_of_the_first() {
        let text = format!("ann:$argon2id$v=19$m=32768,t=3,p=1{ZERO_SALT_AND_HASH}");
        let Found::Unknown(dummy) = Users::parse(&text).unwrap().find("bob") else { panic!() };
        assert_eq!(dummy.hash(), text.strip_prefix("ann:").unwrap());
    }

    #[test]
    fn edit_keeps_other_lines() {
        let text = "# top\nann:1\n\nbob:2";
        assert_eq!(edit(text, "ann", Some("3")).as_deref(), Some("# top\nann:3\n\nbob:2\n"));
        assert_eq!(edit(text, "eve", Some("4")).as_deref(), Some("# top\nann:1\n\nbob:2\neve:4\n"));
        assert_eq!(edit(text, "bob", None).as_deref(), Some("# top\nann:1\n\n"));
        assert_eq!(edit(text, "eve", None), None);
        assert_eq!(edit("", "ann", Some("1")).as_deref(), Some("ann:1\n"));
    }
}
