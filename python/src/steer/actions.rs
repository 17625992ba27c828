//! The Python class of the actions of a policy.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Tolerance of the sum of shares, against rounding.
const SHARE_SUM_TOLERANCE: f64 = 1e-6;

/// A path by its number from 0, or by its name.
#[derive(Debug, Clone, PartialEq, FromPyObject, IntoPyObjectRef)]
enum PathKey {
    Number(usize),
    Name(String),
}

/// What a device, or the sender in a model, does with its paths. A path is a number from 0 or a name.
#[pyclass(frozen, eq, module = "tandem_mptcp._native")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Action(Kind);

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Backup(PathKey),
    Regular(PathKey),
    Open(PathKey),
    Close(PathKey),
    Share(Vec<f64>),
    Offload(Vec<bool>, f64),
}

#[pymethods]
impl Action {
    /// Marks a path as backup by MP_PRIO: the peer uses it only while no regular path is left.
    #[staticmethod]
    fn backup(path: PathKey) -> Self {
        Self(Kind::Backup(path))
    }

    /// Marks a path as regular by MP_PRIO.
    #[staticmethod]
    fn regular(path: PathKey) -> Self {
        Self(Kind::Regular(path))
    }

    /// Opens a subflow on a path, now or as soon as the path is up.
    #[staticmethod]
    fn open(path: PathKey) -> Self {
        Self(Kind::Open(path))
    }

    /// Closes the subflow of a path and keeps it closed until ``open``.
    #[staticmethod]
    fn close(path: PathKey) -> Self {
        Self(Kind::Close(path))
    }

    /// Sets the share of the data on each path, each from 0 to 1, with the sum 1. No real device can do
    /// this: it is for models that include the sender.
    #[staticmethod]
    fn share(shares: Vec<f64>) -> Self {
        Self(Kind::Share(shares))
    }

    /// Has the sender move data from the costly paths to the others by Table I of the eMTCP paper:
    /// a flag for each path, and the largest share to move, from 0 to 1. For models that include the
    /// sender.
    #[staticmethod]
    fn offload(costly: Vec<bool>, share: f64) -> Self {
        Self(Kind::Offload(costly, share))
    }

    fn __repr__(&self) -> String {
        let path = |key: &PathKey| match key {
            PathKey::Number(number) => number.to_string(),
            PathKey::Name(name) => format!("{name:?}"),
        };
        match &self.0 {
            Kind::Backup(key) => format!("Action.backup({})", path(key)),
            Kind::Regular(key) => format!("Action.regular({})", path(key)),
            Kind::Open(key) => format!("Action.open({})", path(key)),
            Kind::Close(key) => format!("Action.close({})", path(key)),
            Kind::Share(shares) => format!("Action.share({shares:?})"),
            Kind::Offload(costly, share) => {
                let flags: Vec<_> = costly.iter().map(|&flag| if flag { "True" } else { "False" }).collect();
                format!("Action.offload([{}], {share:?})", flags.join(", "))
            }
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let py = slf.py();
        let (name, arguments) = match &slf.get().0 {
            Kind::Backup(key) => ("backup", (key,).into_pyobject(py)?.into_any()),
            Kind::Regular(key) => ("regular", (key,).into_pyobject(py)?.into_any()),
            Kind::Open(key) => ("open", (key,).into_pyobject(py)?.into_any()),
            Kind::Close(key) => ("close", (key,).into_pyobject(py)?.into_any()),
            Kind::Share(shares) => ("share", (shares,).into_pyobject(py)?.into_any()),
            Kind::Offload(costly, share) => ("offload", (costly, share).into_pyobject(py)?.into_any()),
        };
        Ok((slf.get_type().getattr(name)?, arguments))
    }
}

impl Action {
    /// The action for a device with these paths.
    ///
    /// # Errors
    /// An unknown path, or shares that are none: the rest of the sentence "... returned".
    pub(super) fn resolve(&self, paths: &[String]) -> PyResult<policy::Action> {
        let path = |key: &PathKey| self.path(key, paths);
        let refuse = |why: String| Err(PyValueError::new_err(format!("{}: {why}", self.__repr__())));
        let is_share = |share: &f64| (0.0..=1.0).contains(share);
        Ok(match &self.0 {
            Kind::Backup(key) => policy::Action::SetBackup { path: path(key)?, backup: true },
            Kind::Regular(key) => policy::Action::SetBackup { path: path(key)?, backup: false },
            Kind::Open(key) => policy::Action::Open { path: path(key)? },
            Kind::Close(key) => policy::Action::Close { path: path(key)? },
            Kind::Share(shares) if shares.len() != paths.len() => {
                return refuse(format!("{} shares for {} paths", shares.len(), paths.len()));
            }
            Kind::Share(shares)
                if !shares.iter().all(is_share)
                    || (shares.iter().sum::<f64>() - 1.0).abs() > SHARE_SUM_TOLERANCE =>
            {
                return refuse("each share is from 0 to 1, and their sum is 1".to_owned());
            }
            Kind::Share(shares) => policy::Action::Share { path_shares: shares.clone() },
            Kind::Offload(costly, _) if costly.len() != paths.len() => {
                return refuse(format!("{} flags for {} paths", costly.len(), paths.len()));
            }
            Kind::Offload(_, share) if !is_share(share) => {
                return refuse("the share is from 0 to 1".to_owned());
            }
            Kind::Offload(costly, share) => policy::Action::Offload { costly: costly.clone(), share: *share },
        })
    }

    fn path(&self, key: &PathKey, paths: &[String]) -> PyResult<usize> {
        let found = match key {
            PathKey::Number(number) => Some(*number).filter(|&number| number < paths.len()),
            PathKey::Name(name) => paths.iter().position(|path| path == name),
        };
        found.ok_or_else(|| {
            let names: Vec<_> = paths.iter().enumerate().map(|(i, name)| format!("{i} `{name}`")).collect();
            PyValueError::new_err(format!(
                "{}: no such path; use one of {}",
                self.__repr__(),
                names.join(", ")
            ))
        })
    }
}
