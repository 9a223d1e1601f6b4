#!/usr/bin/env python3
"""Runs a session file through the C API with ctypes, on a sample of zeros.

    run_session.py liboctet_session.so MODEL.octet OUT

Writes the bytes of the first output to OUT. Needs no packages.
"""
import ctypes
import sys


class TensorInfo(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 8),
                ("sample_bytes", ctypes.c_size_t)]


class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


library, model, out = sys.argv[1:]
octet = ctypes.CDLL(library)
for name in ("octet_last_error", "octet_last_error_code", "octet_version"):
    getattr(octet, name).restype = ctypes.c_char_p
for name in ("octet_session_input_count", "octet_session_output_count"):
    getattr(octet, name).restype = ctypes.c_size_t
    getattr(octet, name).argtypes = [ctypes.c_void_p]
POINTER = ctypes.c_void_p
octet.octet_session_load.argtypes = [ctypes.c_char_p, POINTER, POINTER]
for name in ("octet_session_input", "octet_session_output"):
    getattr(octet, name).argtypes = [POINTER, ctypes.c_size_t, POINTER]
octet.octet_session_run_into.argtypes = [
    POINTER, ctypes.c_int64, POINTER, ctypes.c_size_t, POINTER,
    ctypes.c_size_t]
octet.octet_session_free.argtypes = [POINTER]


def check(status):
    if status != 0:
        sys.exit(f"status {status}: {octet.octet_last_error().decode()}")


def buffers(session, count, describe):
    """Zeros for one sample of each tensor; the list keeps the memory."""
    memory, result = [], (Buffer * count)()
    for i in range(count):
        info = TensorInfo(size=ctypes.sizeof(TensorInfo))
        check(describe(session, i, ctypes.byref(info)))
        memory.append(ctypes.create_string_buffer(info.sample_bytes))
        result[i] = Buffer(ctypes.addressof(memory[-1]), info.sample_bytes)
    return memory, result


session = ctypes.c_void_p()
missing = octet.octet_session_load(b"/nowhere.octet", None,
                                   ctypes.byref(session))
assert missing == 6 and b"/nowhere.octet" in octet.octet_last_error()
check(octet.octet_session_load(model.encode(), None, ctypes.byref(session)))
input_count = octet.octet_session_input_count(session)
output_count = octet.octet_session_output_count(session)
kept, inputs = buffers(session, input_count, octet.octet_session_input)
results, outputs = buffers(session, output_count, octet.octet_session_output)
check(octet.octet_session_run_into(session, 1, inputs, input_count, outputs,
                                   output_count))
open(out, "wb").write(results[0].raw)
octet.octet_session_free(session)
