"""GDB pretty printers for Tensor, Shape and Variable.

  (gdb) source PREFIX/share/octet/octet_gdb.py
  (gdb) print x
  $1 = Tensor f32 [2,3] = {0, 1, 2, 3, 4, 5}

The values of Variables need debug information of the library (a Debug build).
Programs do not embed the file: GDB would warn about it at each start unless
their folder were in its auto-load safe path. To load it always, add the line to
~/.gdbinit.
"""
import gdb
import gdb.printing

MAX_ELEMENTS = 16
TYPES = [("f32", "float"), ("i8", "signed char"), ("u8", "unsigned char"),
         ("i32", "int"), ("i64", "long"), ("bool", "bool")]


def shape_text(shape):
    dims = shape["dims_"]["_M_elems"]
    sizes = [int(dims[i]) for i in range(int(shape["rank_"]))]
    return "[" + ",".join("N" if d == -1 else str(d) for d in sizes) + "]"


def element_text(value, name):
    if name in ("i8", "u8"):
        return str(int(value))
    if name == "f32":
        return "%.7g" % float(value)
    return str(value)


def tensor_text(tensor):
    if int(tensor["buffer_"]) == 0:
        return "empty tensor"
    name, c_type = TYPES[int(tensor["type_"])]
    size = int(tensor["size_"])
    data = tensor["data_"].cast(gdb.lookup_type(c_type).pointer())
    shown = [element_text(data[i], name) for i in range(min(size, MAX_ELEMENTS))]
    more = ", ..." if size > MAX_ELEMENTS else ""
    return "Tensor %s %s = {%s%s}" % (name, shape_text(tensor["shape_"]),
                                      ", ".join(shown), more)


class ShapePrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        return "Shape " + shape_text(self.value)


class TensorPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        try:
            return tensor_text(self.value)
        except gdb.MemoryError:
            return "Tensor with an unreadable buffer"


class VariablePrinter:
    """Shows the op and the value, unless the value is deferred."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        pointer = self.value["node_"]["_M_ptr"]
        if int(pointer) == 0:
            return "empty variable"
        try:
            node = pointer.dereference()
            tensor = node["value"]
        except gdb.error:  # an incomplete type
            return "Variable at %s" % pointer
        text = ("deferred " + shape_text(node["shape"])
                if int(tensor["buffer_"]) == 0 else tensor_text(tensor))
        grad = ", requires_grad" if bool(node["needs_grad"]) else ""
        # std::string: a pointer to its characters.
        op = node["op"]["_M_dataplus"]["_M_p"].string()
        return "Variable of %s%s: %s" % (op, grad, text)


def build_printers():
    printers = gdb.printing.RegexpCollectionPrettyPrinter("octet")
    printers.add_printer("Shape", "^octet::Shape$", ShapePrinter)
    printers.add_printer("Tensor", "^octet::Tensor$", TensorPrinter)
    printers.add_printer("Variable", "^octet::Variable$", VariablePrinter)
    return printers


gdb.printing.register_pretty_printer(None, build_printers(), replace=True)
