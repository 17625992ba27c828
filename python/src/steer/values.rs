//! Declares immutable Python classes with a constructor, `repr` and pickling.

/// Declares a class of public, read-only fields.
macro_rules! value_class {
    ($(#[$attribute:meta])* $name:ident { $($(#[$field_attribute:meta])* $field:ident: $type:ty,)+ }) => {
        $(#[$attribute])*
        #[pyo3::pyclass(frozen, get_all, module = "tandem_mptcp._native")]
        #[derive(Debug)]
        pub(crate) struct $name {
            $($(#[$field_attribute])* pub(crate) $field: $type,)+
        }

        #[pyo3::pymethods]
        impl $name {
            #[new]
            #[allow(clippy::too_many_arguments, reason = "one argument for each field")]
            #[pyo3(signature = ($($field),+))]
            fn new($($field: $type),+) -> Self {
                Self { $($field),+ }
            }

            fn __getnewargs__<'py>(
                &self,
                py: pyo3::Python<'py>,
            ) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::types::PyTuple>> {
                use pyo3::IntoPyObjectExt as _;
                pyo3::types::PyTuple::new(py, [$((&self.$field).into_bound_py_any(py)?),+])
            }

            fn __repr__(&self, py: pyo3::Python<'_>) -> pyo3::PyResult<String> {
                use pyo3::IntoPyObjectExt as _;
                use pyo3::types::PyAnyMethods as _;
                let fields = [$(format!(
                    "{}={}",
                    stringify!($field),
                    (&self.$field).into_bound_py_any(py)?.repr()?
                )),+];
                Ok(format!("{}({})", stringify!($name), fields.join(", ")))
            }
        }
    };
}

pub(super) use value_class;
