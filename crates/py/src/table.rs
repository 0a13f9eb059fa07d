//! A table in memory, for every library that implements Arrow's PyCapsule interface.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use xoff_record::MemoryTable;

/// A table of a run. Its columns stay where the run wrote them; a consumer of the stream shares
/// them.
#[pyclass(frozen)]
pub struct Table(pub MemoryTable);

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.0.batches.iter().map(|b| b.num_rows()).sum()
    }

    /// Arrow's C stream. A stream is used up by its reader, a table is not: each call gives a new
    /// one over the same memory. Another schema is best effort by that interface; this table has
    /// only its own.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(self.0.clone().into_reader()));
        // Dropped unread, the stream releases itself.
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
