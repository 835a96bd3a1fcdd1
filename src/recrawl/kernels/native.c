/* Calls of kernels that were compiled when the package was built.

   `tools/build_kernels.py` compiles every kernel with numba and links the machine code with this
   file, so that neither numba nor a compiler is needed afterwards. It also writes `table.h`: one row
   per kernel, with its name, the types of its arguments and of its result, and its entry points. An
   entry point reads arguments from an array of 8-byte slots and writes results to another.

   A type is written as
     d i b                a float64, int64 or bool
     [2f8]                an array: dimensions, kind and bytes per item as in NumPy's type strings
     (...)                a tuple of types
     -                    no result
   An array takes 5 + 2 · dimensions slots, as numba passes it: two owners, items, bytes per item,
   data, shape and strides. */

#define Py_LIMITED_API 0x030B0000
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SLOTS 256
#define MAX_COPIES 32
#define ALLOCATION "a kernel ran out of memory"

typedef union {
    double number;
    int64_t integer;
    void *pointer;
} Slot;
typedef int32_t (*Entry)(Slot *arguments, Slot *results);
typedef struct {
    const char *name, *sources, *arguments, *result;
    Entry entries[2]; /* for any processor of the architecture, and for a recent one; or NULL */
} Row;

#include "table.h"

/* The part of numba's runtime that kernels use: memory with a count of its users, and other shapes
   for arrays. */

typedef struct {
    size_t users;
    void (*destroy)(void *data, size_t size, void *with);
    void *with, *data;
    size_t size;
    void *allocator;
} Memory;

void *NRT_Allocate(size_t size) { return malloc(size ? size : 1); }
void NRT_Free(void *memory) { free(memory); }

Memory *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) {
    Memory *memory = size > SIZE_MAX / 2 ? NULL : malloc(sizeof(Memory) + size + align);
    if (memory) {
        uintptr_t data = (uintptr_t)(memory + 1);
        *memory = (Memory){.users = 1, .size = size};
        memory->data = (void *)((data + align - 1) / align * align);
    }
    return memory;
}
Memory *NRT_MemInfo_alloc(size_t size) { return NRT_MemInfo_alloc_aligned(size, 16); }

void NRT_MemInfo_call_dtor(Memory *memory) {
    if (memory->destroy) memory->destroy(memory->data, memory->size, memory->with);
    free(memory);
}

int numba_attempt_nocopy_reshape(npy_intp dimensions, const npy_intp *shape,
                                 const npy_intp *strides, npy_intp new_dimensions,
                                 const npy_intp *new_shape, npy_intp *new_strides, npy_intp bytes,
                                 int columns_first) {
    npy_intp stride = bytes;
    for (npy_intp i = dimensions - 1; i >= 0; stride *= shape[i--])
        if (shape[i] > 1 && strides[i] != stride) return 0;
    if (columns_first) return 0;
    stride = bytes;
    for (npy_intp i = new_dimensions - 1; i >= 0; stride *= new_shape[i--]) new_strides[i] = stride;
    return 1;
}

/* Arguments. */

typedef struct {
    Slot slots[MAX_SLOTS];
    int used;
    PyArrayObject *copies[MAX_COPIES]; /* of arrays that a kernel cannot take as they are */
    int copied;
} Arguments;

static const char *read_array_type(const char *type, int *dimensions, char *kind, int *bytes) {
    char *end;
    *dimensions = (int)strtol(type + 1, &end, 10);
    *kind = *end;
    *bytes = (int)strtol(end + 1, &end, 10);
    return end + 1;
}

static int add(Arguments *arguments, Slot slot) {
    if (arguments->used == MAX_SLOTS) {
        PyErr_SetString(PyExc_TypeError, "a kernel has too many arguments");
        return -1;
    }
    arguments->slots[arguments->used++] = slot;
    return 0;
}

/* Return a contiguous array of the wanted type: the array itself, or a copy that is written back. */
static PyArrayObject *fitting(Arguments *arguments, PyObject *given, int dimensions, char kind,
                              int bytes) {
    if (!PyArray_Check(given)) {
        PyErr_Format(PyExc_TypeError, "a kernel takes an array here, not %R", Py_TYPE(given));
        return NULL;
    }
    PyArrayObject *array = (PyArrayObject *)given;
    PyArray_Descr *type = PyArray_DESCR(array);
    int same = type->kind == kind && PyDataType_ELSIZE(type) == bytes && PyArray_ISNOTSWAPPED(array);
    if (PyArray_NDIM(array) != dimensions || (kind == 'V' && !same)) {
        PyErr_Format(PyExc_TypeError, "a kernel takes an array of %d dimensions and %d-byte items",
                     dimensions, bytes);
        return NULL;
    }
    if (same && PyArray_ISCARRAY_RO(array)) return array;
    PyArray_Descr *wanted = type;
    if (kind == 'V') {
        Py_INCREF((PyObject *)wanted);
    } else {
        PyObject *name = PyUnicode_FromFormat("%c%d", kind, bytes);
        int known = name && PyArray_DescrConverter(name, &wanted);
        Py_XDECREF(name);
        if (!known) return NULL;
        if (!PyArray_CanCastTypeTo(type, wanted, NPY_SAFE_CASTING)) {
            PyErr_Format(PyExc_TypeError, "a kernel takes an array of %R, not %R", wanted, type);
            Py_DECREF((PyObject *)wanted);
            return NULL;
        }
    }
    if (arguments->copied == MAX_COPIES) {
        Py_DECREF((PyObject *)wanted);
        PyErr_SetString(PyExc_TypeError, "a kernel has too many arguments");
        return NULL;
    }
    int flags = NPY_ARRAY_CARRAY | NPY_ARRAY_FORCECAST;
    if (PyArray_ISWRITEABLE(array)) flags |= NPY_ARRAY_WRITEBACKIFCOPY;
    PyArrayObject *copy = (PyArrayObject *)PyArray_FromArray(array, wanted, flags);
    if (copy) arguments->copies[arguments->copied++] = copy;
    return copy;
}

static int add_array(Arguments *arguments, PyObject *given, const char **type) {
    int dimensions, bytes;
    char kind;
    *type = read_array_type(*type, &dimensions, &kind, &bytes);
    PyArrayObject *array = fitting(arguments, given, dimensions, kind, bytes);
    if (!array) return -1;
    Slot fields[5] = {{.pointer = NULL},
                      {.pointer = NULL},
                      {.integer = PyArray_SIZE(array)},
                      {.integer = bytes},
                      {.pointer = PyArray_DATA(array)}};
    for (int i = 0; i < 5; i++)
        if (add(arguments, fields[i]) < 0) return -1;
    for (int i = 0; i < dimensions; i++)
        if (add(arguments, (Slot){.integer = PyArray_DIM(array, i)}) < 0) return -1;
    for (int i = 0; i < dimensions; i++)
        if (add(arguments, (Slot){.integer = PyArray_STRIDE(array, i)}) < 0) return -1;
    return 0;
}

static int add_argument(Arguments *arguments, PyObject *given, const char **type);

static int add_tuple(Arguments *arguments, PyObject *given, const char **type) {
    if (!PyTuple_Check(given)) {
        PyErr_Format(PyExc_TypeError, "a kernel takes a tuple here, not %R", Py_TYPE(given));
        return -1;
    }
    Py_ssize_t size = PyTuple_Size(given), item = 0;
    for ((*type)++; **type && **type != ')'; item++) {
        if (item >= size) break;
        if (add_argument(arguments, PyTuple_GetItem(given, item), type) < 0) return -1;
    }
    if (**type != ')' || item != size) {
        PyErr_Format(PyExc_TypeError, "a kernel does not take a tuple of %zd items here", size);
        return -1;
    }
    (*type)++;
    return 0;
}

static int add_argument(Arguments *arguments, PyObject *given, const char **type) {
    Slot slot = {.integer = 0};
    switch (**type) {
    case '[':
        return add_array(arguments, given, type);
    case '(':
        return add_tuple(arguments, given, type);
    case 'd':
        slot.number = PyFloat_AsDouble(given);
        break;
    case 'b':
        slot.integer = PyObject_IsTrue(given);
        break;
    default:
        slot.integer = PyLong_AsLongLong(given);
    }
    (*type)++;
    if (PyErr_Occurred()) return -1;
    return add(arguments, slot);
}

/* Write copies back where that is due, and release them. */
static int release(Arguments *arguments, int failed) {
    for (int i = 0; i < arguments->copied; i++) {
        if (failed)
            PyArray_DiscardWritebackIfCopy(arguments->copies[i]);
        else if (PyArray_ResolveWritebackIfCopy(arguments->copies[i]) < 0)
            failed = 1;
        Py_DECREF((PyObject *)arguments->copies[i]);
    }
    return failed ? -1 : 0;
}

/* Results. */

static void release_memory(PyObject *capsule) {
    Memory *memory = PyCapsule_GetPointer(capsule, NULL);
    if (__atomic_sub_fetch(&memory->users, 1, __ATOMIC_ACQ_REL) == 0) NRT_MemInfo_call_dtor(memory);
}

static PyObject *new_array(const Slot **slot, const char **type) {
    int dimensions, bytes;
    char kind;
    *type = read_array_type(*type, &dimensions, &kind, &bytes);
    Memory *memory = (*slot)[0].pointer;
    void *data = (*slot)[4].pointer;
    npy_intp shape[8];
    for (int i = 0; i < dimensions; i++) shape[i] = (*slot)[5 + i].integer;
    *slot += 5 + 2 * dimensions;
    PyObject *owner = memory ? PyCapsule_New(memory, NULL, release_memory) : NULL;
    PyObject *name = PyUnicode_FromFormat("%c%d", kind, bytes);
    PyArray_Descr *item = NULL;
    int known = name && PyArray_DescrConverter(name, &item);
    Py_XDECREF(name);
    PyObject *array = NULL;
    if (known && (owner || !memory))
        array = PyArray_NewFromDescr(&PyArray_Type, item, dimensions, shape, NULL, data,
                                     NPY_ARRAY_CARRAY, NULL);
    if (array && owner) {
        if (PyArray_SetBaseObject((PyArrayObject *)array, owner) < 0) Py_CLEAR(array);
    } else if (array) {
        /* A part of an argument, which may not live as long. */
        PyObject *borrowed = array;
        array = PyArray_NewCopy((PyArrayObject *)borrowed, NPY_CORDER);
        Py_DECREF(borrowed);
    } else {
        Py_XDECREF(owner);
    }
    return array;
}

static PyObject *new_result(const Slot **slot, const char **type) {
    if (**type == '[') return new_array(slot, type);
    if (**type == '(') {
        PyObject *items = PyList_New(0);
        (*type)++;
        while (items && **type != ')') {
            PyObject *item = new_result(slot, type);
            if (!item || PyList_Append(items, item) < 0) Py_CLEAR(items);
            Py_XDECREF(item);
        }
        (*type)++;
        PyObject *tuple = items ? PyList_AsTuple(items) : NULL;
        Py_XDECREF(items);
        return tuple;
    }
    char kind = *(*type)++;
    if (kind == '-') Py_RETURN_NONE;
    const Slot *value = (*slot)++;
    if (kind == 'd') return PyFloat_FromDouble(value->number);
    if (kind == 'b') return PyBool_FromLong((long)value->integer);
    return PyLong_FromLongLong(value->integer);
}

/* Calls. */

static PyObject *call(PyObject *self, PyObject *const *given, Py_ssize_t count) {
    const Row *row = PyCapsule_GetPointer(self, "row");
    Entry entry = row ? (Entry)PyCapsule_GetContext(self) : NULL;
    if (!entry) return NULL;
    Arguments arguments;
    arguments.used = arguments.copied = 0;
    const char *type = row->arguments;
    int failed = 0;
    Py_ssize_t item = 0;
    for (; !failed && *type && item < count; item++)
        failed = add_argument(&arguments, given[item], &type) < 0;
    if (!failed && (*type || item != count)) {
        PyErr_Format(PyExc_TypeError, "%s does not take %zd arguments", row->name, count);
        failed = 1;
    }
    Slot results[MAX_SLOTS];
    if (!failed) {
        int32_t status;
        Py_BEGIN_ALLOW_THREADS;
        status = entry(arguments.slots, results);
        Py_END_ALLOW_THREADS;
        if (status) {
            PyErr_SetString(PyExc_MemoryError, ALLOCATION);
            failed = 1;
        }
    }
    if (release(&arguments, failed) < 0) return NULL;
    const Slot *slot = results;
    type = row->result;
    return new_result(&slot, &type);
}

static PyMethodDef CALL = {"kernel", (PyCFunction)(void (*)(void))call, METH_FASTCALL, NULL};

static int recent_processor(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#else
    return 0;
#endif
}

/* Return ((name, hash of the sources, function for each level that this processor has), ...). */
static PyObject *kernels(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    PyObject *found = PyList_New(0);
    for (size_t i = 0; found && i < sizeof(ROWS) / sizeof(*ROWS); i++) {
        PyObject *levels = PyList_New(0);
        for (int level = 0; levels && level <= recent_processor(); level++) {
            if (!ROWS[i].entries[level]) continue;
            PyObject *capsule = PyCapsule_New((void *)&ROWS[i], "row", NULL);
            if (capsule) PyCapsule_SetContext(capsule, (void *)ROWS[i].entries[level]);
            PyObject *function = capsule ? PyCFunction_New(&CALL, capsule) : NULL;
            Py_XDECREF(capsule);
            if (!function || PyList_Append(levels, function) < 0) Py_CLEAR(levels);
            Py_XDECREF(function);
        }
        PyObject *row =
            levels ? Py_BuildValue("(ssN)", ROWS[i].name, ROWS[i].sources, levels) : NULL;
        if (!row || PyList_Append(found, row) < 0) Py_CLEAR(found);
        Py_XDECREF(row);
    }
    return found;
}

static PyMethodDef METHODS[] = {{"kernels", kernels, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, .m_name = "_native", .m_size = -1, .m_methods = METHODS};

PyMODINIT_FUNC PyInit__native(void) {
    import_array();
    return PyModule_Create(&MODULE);
}
