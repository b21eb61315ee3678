//===-- LazyNegation.h - torch's tensors that are to be negated when read ---------------------===//
// The memory of `z.conj().imag`, and of whatever is a view of it, holds the numbers with the other
// sign; torch negates as it reads (Tensor.is_neg). A kernel would read them as they lie there.
//
// Asking each tensor by is_neg() costs 60 ns of a launch of 400. It is one bit of the tensor's C++
// object, whose place is found once, by comparing tensors that differ in nothing else, and where
// that shows one place only: reading it costs a nanosecond. Else is_neg() is asked.
#pragma once

#include "Errors.h"

namespace sectile::bindings {

/// `tensor`: a torch.Tensor, or of a class that has is_neg() as those have.
bool isLazilyNegated(PyObject *tensor);

/// Finds the place of the bit; called when a type is seen for the first time. A no-op afterwards.
void findNegationBit(PyObject *tensor);

} // namespace sectile::bindings
