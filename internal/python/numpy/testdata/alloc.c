// What alloc.c of NumPy 2.5 does, for tests: macros make of it what NumPy is not.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void *PyMem_RawMalloc(size_t), *PyMem_RawCalloc(size_t, size_t), *PyMem_RawRealloc(void *, size_t);
void PyMem_RawFree(void *);
int PyTraceMalloc_Track(unsigned, uintptr_t, size_t), PyTraceMalloc_Untrack(unsigned, uintptr_t);
void *PyContextVar_Set(void *, void *), *PyCapsule_GetPointer(void *, const char *);
int PyCapsule_IsValid(void *, const char *), madvise(void *, size_t, int);
void *_ZnwmSt11align_val_t(size_t, size_t), *numa_alloc_local(size_t);

#define HIDDEN __attribute__((visibility("hidden")))

#ifndef BUCKETS
#define BUCKETS 1024 // blocks of fewer bytes are kept
#endif
#ifndef BIG
#define BIG(size) // where blocks of 64 MiB come from
#endif
#ifndef CAPSULE
#define CAPSULE "mem_handler"
#endif

static struct {
    size_t available;
    void *blocks[7];
} cache[BUCKETS];
HIDDEN char *pool;
HIDDEN int hugepages;

#ifdef IDLE // a function of the file that is called, and does nothing with memory
__attribute__((noinline)) static void advise(char *p, size_t size) { madvise(p, size, 14); }
#else
static inline void advise(char *p, size_t size) { madvise(p, size, 14); }
#endif

__attribute__((noinline)) void *own_allocator(size_t size) { return PyMem_RawMalloc(size); }

static inline void *raw(size_t size)
{
    void *p = PyMem_RawMalloc(size);
    if (p)
        PyTraceMalloc_Untrack(0, (uintptr_t)p);
    return p;
}

static void *default_malloc(void *context, size_t size)
{
    BIG(size)
    if (size < BUCKETS)
        return cache[size].available ? cache[size].blocks[--cache[size].available] : raw(size);
    void *p = raw(size);
    if (p && size >= 1 << 22 && hugepages)
        advise(p, size);
    return p;
}

static void *default_calloc(void *context, size_t count, size_t size)
{
    if (count * size < BUCKETS) {
        void *p = cache[count * size].available ? cache[count * size].blocks[--cache[count * size].available]
                                                : raw(count * size);
        return p ? memset(p, 0, count * size) : p;
    }
    return PyMem_RawCalloc(count, size);
}

static void *default_realloc(void *context, void *p, size_t size)
{
#ifdef IN_PLACE // small enough blocks stay where they are
    if (size < IN_PLACE)
        return p;
#endif
    return PyMem_RawRealloc(p, size);
}

static void default_free(void *context, void *p, size_t size)
{
    if (p && size < BUCKETS && cache[size].available < 7)
        cache[size].blocks[cache[size].available++] = p;
    else
        PyMem_RawFree(p);
}

struct handler {
    char name[127];
    uint8_t version;
    void *context, *(*malloc)(void *, size_t), *(*calloc)(void *, size_t, size_t), *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *, size_t);
};
HIDDEN struct handler handler = {"default_allocator", 1, 0, default_malloc, default_calloc, default_realloc,
                                 default_free};
HIDDEN void *current_handler, *another_variable;

#define DOMAIN 389047

void *PyDataMem_UserNEW(size_t size, void *capsule)
{
    struct handler *h = PyCapsule_GetPointer(capsule, "mem_handler");
    void *p = h ? h->malloc(h->context, size) : NULL;
    if (p)
        PyTraceMalloc_Track(DOMAIN, (uintptr_t)p, size);
    return p;
}

void *PyDataMem_UserNEW_ZEROED(size_t count, size_t size, void *capsule)
{
    struct handler *h = PyCapsule_GetPointer(capsule, "mem_handler");
    void *p = h ? h->calloc(h->context, count, size) : NULL;
    if (p)
        PyTraceMalloc_Track(DOMAIN, (uintptr_t)p, count * size);
    return p;
}

void *PyDataMem_UserRENEW(void *old, size_t size, void *capsule)
{
    struct handler *h = PyCapsule_GetPointer(capsule, "mem_handler");
    void *p = h ? h->realloc(h->context, old, size) : NULL;
    if (p) {
#ifdef ASKS // as NumPy 2.5 does
        if (PyTraceMalloc_Untrack(DOMAIN, (uintptr_t)old) == -2)
            return p;
#else
        PyTraceMalloc_Untrack(DOMAIN, (uintptr_t)old);
#endif
        PyTraceMalloc_Track(DOMAIN, (uintptr_t)p, size);
    }
    return p;
}

void PyDataMem_UserFREE(void *p, size_t size, void *capsule)
{
    struct handler *h = PyCapsule_GetPointer(capsule, "mem_handler");
    if (h) {
        PyTraceMalloc_Untrack(DOMAIN, (uintptr_t)p);
#ifdef LEAKS
        if (size < LEAKS)
            return;
#endif
        h->free(h->context, p, size);
    }
}

void *PyDataMem_NEW(size_t size)
{
    void *p = PyMem_RawMalloc(size);
    if (p)
        PyTraceMalloc_Track(DOMAIN, (uintptr_t)p, size);
    return p;
}

void PyDataMem_FREE(void *p)
{
    PyTraceMalloc_Untrack(DOMAIN, (uintptr_t)p);
    PyMem_RawFree(p);
}

void *PyDataMem_RENEW(void *old, size_t size)
{
    void *p = PyMem_RawRealloc(old, size);
    if (p) {
#ifdef ASKS // as NumPy 2.5 does
        if (PyTraceMalloc_Untrack(DOMAIN, (uintptr_t)old) == -2)
            return p;
#else
        PyTraceMalloc_Untrack(DOMAIN, (uintptr_t)old);
#endif
        PyTraceMalloc_Track(DOMAIN, (uintptr_t)p, size);
    }
    return p;
}

void *PyDataMem_SetHandler(void *capsule)
{
#ifndef UNCHECKED
    if (!PyCapsule_IsValid(capsule, CAPSULE))
        return NULL;
#endif
    return PyContextVar_Set(current_handler, capsule);
}

#ifdef ANOTHER // is the name of what another context variable has
void *set_another(void *capsule)
{
    return PyCapsule_IsValid(capsule, ANOTHER) ? PyContextVar_Set(another_variable, capsule) : NULL;
}
#endif
