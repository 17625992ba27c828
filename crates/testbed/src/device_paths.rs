//! The device's interfaces, on the kernel or at Tandem's stack.

use crate::kernel_paths::KernelPaths;
use crate::stack_end::StackPaths;
use linux::Error;

/// Interfaces of the device, and the subflows over them.
#[derive(Debug)]
pub(crate) enum DevicePaths {
    Kernel(Box<KernelPaths>),
    Stack(StackPaths),
}

impl DevicePaths {
    /// Brings an interface up.
    pub(crate) fn bring_up(&mut self, path: usize) -> Result<(), Error> {
        match self {
            Self::Kernel(paths) => paths.bring_up(path),
            Self::Stack(paths) => {
                paths.bring_up(path);
                Ok(())
            }
        }
    }

    /// Takes an interface down.
    pub(crate) fn take_down(&mut self, path: usize) -> Result<(), Error> {
        match self {
            Self::Kernel(paths) => paths.take_down(path),
            Self::Stack(paths) => {
                paths.take_down(path);
                Ok(())
            }
        }
    }

    /// Replaces the address of an interface. Runs with Tandem's stack have no such fault.
    pub(crate) fn change_address(&mut self, path: usize) -> Result<(), Error> {
        match self {
            Self::Kernel(paths) => paths.change_address(path),
            Self::Stack(_) => Ok(()),
        }
    }

    /// Opens a path that the policy had closed.
    pub(crate) fn open_path(&mut self, path: usize) -> Result<(), Error> {
        match self {
            Self::Kernel(paths) => paths.open_path(path),
            Self::Stack(paths) => {
                paths.open_path(path);
                Ok(())
            }
        }
    }

    /// Closes a path for the policy: its subflows end, and no connection begins there.
    pub(crate) fn close_path(&mut self, path: usize) -> Result<(), Error> {
        match self {
            Self::Kernel(paths) => paths.close_path(path),
            Self::Stack(paths) => {
                paths.close_path(path);
                Ok(())
            }
        }
    }

    /// Makes a path a backup or a regular one (MP_PRIO).
    pub(crate) fn set_backup(&mut self, path: usize, backup: bool) -> Result<(), Error> {
        match self {
            Self::Kernel(paths) => paths.endpoints.set_backup(path, backup),
            Self::Stack(paths) => {
                paths.set_backup(path, backup);
                Ok(())
            }
        }
    }

    /// True while the path's interface is up.
    pub(crate) fn is_up(&self, path: usize) -> bool {
        match self {
            Self::Kernel(paths) => paths.is_up(path),
            Self::Stack(paths) => paths.is_up(path),
        }
    }

    pub(crate) fn is_backup(&self, path: usize) -> bool {
        match self {
            Self::Kernel(paths) => paths.endpoints.interfaces()[path].backup,
            Self::Stack(paths) => paths.is_backup(path),
        }
    }

    /// Name of a path's interface on the kernel.
    pub(crate) fn interface(&self, path: usize) -> Option<&str> {
        match self {
            Self::Kernel(paths) => Some(paths.interface(path)),
            Self::Stack(_) => None,
        }
    }
}
