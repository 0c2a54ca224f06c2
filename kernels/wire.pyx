"""Protocol buffers taken apart: bytes become objects whose attributes are the fields; long runs of bytes stay where they are."""
from array import array

from cpython.array cimport array as Array, clone
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

ctypedef const unsigned char* Bytes

cdef enum:  # how a value is written
    VARINT, EIGHT, DELIMITED, START, END, FOUR

cdef enum:  # types, by their numbers in a descriptor
    DOUBLE = 1
    FLOAT = 2
    INT64 = 3
    UINT64 = 4
    INT32 = 5
    STRING = 9
    MESSAGE = 11
    BYTES = 12
    ENUM = 14

cdef enum:
    DEEPEST = 100  # messages in messages, as protobuf has it
    LONG = 4096  # bytes from which a copy costs more than a view

cdef dict EMPTY = {code: array(letter) for code, letter in
                   ((DOUBLE, "d"), (FLOAT, "f"), (INT64, "q"), (UINT64, "Q"), (INT32, "i"), (ENUM, "i"))}


cdef class Field:
    """One field of a message: its name, type and whether it repeats.

    ``about`` is the kind of a message, the values that an enumeration has, or None; ``rivals`` are the fields that it puts out.
    """

    cdef str name
    cdef int type
    cdef bint repeats
    cdef object about
    cdef tuple rivals

    def __init__(self, str name, int type, bint repeats, about, tuple rivals):
        if type not in EMPTY and type not in (STRING, MESSAGE, BYTES) or (type == MESSAGE) != isinstance(about, Kind):
            raise ValueError(f"field {name} has a type that cannot be read")
        self.name, self.type, self.repeats, self.about, self.rivals = name, type, repeats, about, rivals


cdef class Kind:
    """A kind of message: the class of its objects, and its fields by number."""

    cdef object made
    cdef readonly dict fields

    def __init__(self, made):
        self.made, self.fields = made, {}

    def add(self, int number, Field field not None):
        self.fields[number] = field


cdef struct Reader:
    Bytes start
    Bytes at
    int depth


cdef uint64_t varint(Reader* r, Bytes end) except? 0:
    cdef uint64_t value = 0
    cdef int shift = 0
    cdef unsigned char byte
    while r.at < end and shift < 70:
        byte = r.at[0]
        r.at += 1
        value |= <uint64_t> (byte & 127) << shift
        if byte < 128:
            return value
        shift += 7
    raise ValueError("a number is cut off" if r.at >= end else "a number has too many digits")


cdef Bytes span(Reader* r, Bytes end) except NULL:
    """Where a run of bytes ends, of which the length comes first."""
    cdef uint64_t size = varint(r, end)
    if size > <uint64_t> (end - r.at):
        raise ValueError(f"a field at byte {r.at - r.start} claims {size} bytes, {end - r.at} are left")
    return r.at + size


cdef int forward(Reader* r, Bytes end, Py_ssize_t size) except -1:
    if end - r.at < size:
        raise ValueError("a number is cut off")
    r.at += size
    return 0


cdef int skip(Reader* r, Bytes end, uint32_t tag) except -1:
    """Pass over a field that is not known."""
    cdef uint32_t inner
    cdef int how = tag & 7
    if how == VARINT:
        varint(r, end)
    elif how == EIGHT:
        forward(r, end, 8)
    elif how == FOUR:
        forward(r, end, 4)
    elif how == DELIMITED:
        r.at = span(r, end)
    elif how == START:
        deeper(r)
        while True:
            inner = tag_of(r, end)
            if inner & 7 == END:
                break
            skip(r, end, inner)
        if inner >> 3 != tag >> 3:
            raise ValueError("a group does not end as it begins")
        r.depth -= 1
    else:
        raise ValueError("a group ends that has not begun" if how == END else "a field is written in an unknown way")
    return 0


cdef int deeper(Reader* r) except -1:
    r.depth += 1
    if r.depth > DEEPEST:
        raise ValueError("messages are nested too deeply")
    return 0


cdef uint32_t tag_of(Reader* r, Bytes end) except 0:
    cdef uint64_t tag = varint(r, end)
    if tag < 8 or tag > 0xffffffff:
        raise ValueError("a field has a number that none can have")
    return <uint32_t> tag


cdef object message(Kind kind, dict values, Reader* r, Bytes end, source):
    """Fill a message's fields from the bytes up to ``end``."""
    cdef uint32_t tag
    cdef object found
    while r.at < end:
        tag = tag_of(r, end)
        found = kind.fields.get(tag >> 3)
        if found is None or not take(<Field> found, tag, values, r, end, source):
            skip(r, end, tag)


cdef bint take(Field field, uint32_t tag, dict values, Reader* r, Bytes end, source) except -1:
    """Read a field's value, if it is written in a way that goes with its type."""
    cdef int how = tag & 7
    cdef object value
    cdef Bytes last
    if field.type in (STRING, BYTES, MESSAGE):
        if how != DELIMITED:
            return False
        last = span(r, end)
        if field.type == MESSAGE:
            value = inner(field, values, r, last, source)
        else:
            value = text(r.at, last - r.at) if field.type == STRING else content(field, r, last, source)
        r.at = last
    elif field.repeats and how == DELIMITED:
        packed(field, values, r, span(r, end), source)
        return True
    elif how != (EIGHT if field.type == DOUBLE else FOUR if field.type == FLOAT else VARINT):
        return False
    elif field.repeats and field.type != ENUM:
        joined(field, values, unpacked(field.type, tag, r, end))
        return True
    else:
        value = number(field.type, r, end)
        if field.type == ENUM and value not in field.about:
            return True
    if field.repeats:
        gathered(field, values).append(value)
    else:
        values[field.name] = value
        for rival in field.rivals:
            values.pop(rival, None)
    return True


cdef object inner(Field field, dict values, Reader* r, Bytes last, source):
    """A message in a message; one that does not repeat and comes again adds to what there is."""
    cdef Kind kind = field.about
    cdef object made = None if field.repeats else values.get(field.name)
    if made is None:
        made = kind.made.__new__(kind.made)
    deeper(r)
    message(kind, made.__dict__, r, last, source)
    r.depth -= 1
    return made


cdef object text(Bytes at, Py_ssize_t size):
    """A string; bytes where it is none, as protobuf has it."""
    try:
        return PyUnicode_DecodeUTF8(<const char*> at, size, NULL)
    except UnicodeDecodeError:
        return PyBytes_FromStringAndSize(<const char*> at, size)


cdef object content(Field field, Reader* r, Bytes last, source):
    if field.repeats or last - r.at < LONG:
        return PyBytes_FromStringAndSize(<const char*> r.at, last - r.at)
    return source[r.at - r.start:last - r.start]


cdef object number(int type, Reader* r, Bytes end):
    cdef double wide
    cdef float narrow
    if type == DOUBLE:
        forward(r, end, 8)
        memcpy(&wide, r.at - 8, 8)
        return wide
    if type == FLOAT:
        forward(r, end, 4)
        memcpy(&narrow, r.at - 4, 4)
        return narrow
    if type == UINT64:
        return varint(r, end)
    return <int64_t> varint(r, end) if type == INT64 else <int32_t> varint(r, end)


cdef object gathered(Field field, dict values):
    """The values that a field has so far, to which others can be added."""
    cdef object found = values.get(field.name)
    if found is None:
        found = values[field.name] = clone(EMPTY[field.type], 0, False) if field.type in EMPTY else []
    elif isinstance(found, memoryview):
        found = values[field.name] = array(EMPTY[field.type].typecode, found)
    return found


cdef object packed(Field field, dict values, Reader* r, Bytes last, source):
    """Numbers one after the other. Floats are not copied where all of them come in one run."""
    cdef Py_ssize_t size = last - r.at, each = 8 if field.type == DOUBLE else 4
    if field.type in (FLOAT, DOUBLE):
        if size % each:
            raise ValueError("a number is cut off")
        if field.name not in values and size >= LONG:
            values[field.name] = source[r.at - r.start:last - r.start].cast("d" if field.type == DOUBLE else "f")
        elif size:
            gathered(field, values).frombytes(PyBytes_FromStringAndSize(<const char*> r.at, size))
        r.at = last
        return
    joined(field, values, varints(field.type, r, last))


cdef object joined(Field field, dict values, Array block):
    """Put numbers behind those that a field has so far."""
    if field.name not in values:
        values[field.name] = block
    else:
        gathered(field, values).extend(block)


cdef Array unpacked(int type, uint32_t tag, Reader* r, Bytes end):
    """Numbers of which each has its tag, as many as follow each other."""
    cdef Py_ssize_t count = 0, i
    cdef Bytes first = r.at, last = first
    cdef Array made
    while True:
        jump(type, r, end)
        last = r.at
        count += 1
        if r.at == end or tag_of(r, end) != tag:
            break
    r.at = first
    made = clone(EMPTY[type], count, False)
    for i in range(count):
        if type == DOUBLE:
            memcpy(&made.data.as_doubles[i], r.at, 8)
        elif type == FLOAT:
            memcpy(&made.data.as_floats[i], r.at, 4)
        elif type == INT32:
            made.data.as_ints[i] = <int32_t> varint(r, end)
        else:
            made.data.as_ulonglongs[i] = varint(r, end)
        if type == DOUBLE or type == FLOAT:
            r.at += 8 if type == DOUBLE else 4
        if i < count - 1:
            varint(r, end)
    r.at = last
    return made


cdef int jump(int type, Reader* r, Bytes end) except -1:
    """Pass over a number."""
    if type == DOUBLE or type == FLOAT:
        return forward(r, end, 8 if type == DOUBLE else 4)
    varint(r, end)
    return 0


cdef Array varints(int type, Reader* r, Bytes last):
    cdef Bytes at = r.at
    cdef Py_ssize_t count = 0, i
    cdef Array made
    while at < last:
        count += at[0] < 128
        at += 1
    made = clone(EMPTY[type], count, False)
    for i in range(count):
        if type == INT32 or type == ENUM:
            made.data.as_ints[i] = <int32_t> varint(r, last)
        else:
            made.data.as_ulonglongs[i] = varint(r, last)
    if r.at < last:
        raise ValueError("a number is cut off")
    return made


def parse(Kind kind not None, source):
    """The message that bytes (a contiguous buffer of them) are; ValueError where they are none."""
    cdef const unsigned char[::1] data = source
    cdef Reader r
    made = kind.made.__new__(kind.made)
    if data.shape[0]:
        r.start = r.at = &data[0]
        r.depth = 0
        message(kind, made.__dict__, &r, r.start + data.shape[0], memoryview(source))
    return made
