// The classes of Arrow's memory pools, as its library exports them: names, the order of virtual functions and their
// effects are those of cpp/src/arrow/memory_pool.{h,cc}. OLD: without an alignment, as before Arrow 11. NEW_KIND: a
// class of pools that nobody knows. HIDDEN: classes that take memory are not exported, as in wheels.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace arrow {

class Status {
public:
	Status() : state_(nullptr) {}
	Status(char code, const std::string &text) : state_(new State{code, text}) {}
	Status(Status &&other) : state_(other.state_) { other.state_ = nullptr; }
	~Status() { delete state_; }
	bool ok() const { return !state_; }

private:
	struct State {
		char code;
		std::string text;
	};
	State *state_;
};

#ifdef OLD
#define ALIGNMENT
#define PASSED
#define ALIGNMENT_LAST
#define PASSED_LAST
#else
#define ALIGNMENT int64_t alignment,
#define PASSED alignment,
#define ALIGNMENT_LAST , int64_t alignment
#define PASSED_LAST , alignment
#endif

class MemoryPool {
public:
	virtual ~MemoryPool();
	virtual Status Allocate(int64_t size, ALIGNMENT uint8_t **out) = 0;
	virtual Status Reallocate(int64_t old_size, int64_t new_size, ALIGNMENT uint8_t **pointer) = 0;
	virtual void Free(uint8_t *buffer, int64_t size ALIGNMENT_LAST) = 0;
	virtual void ReleaseUnused();
	virtual int64_t bytes_allocated() const = 0;
};

MemoryPool::~MemoryPool() {}
void MemoryPool::ReleaseUnused() {}

alignas(64) uint8_t zero_size_area[1];

struct Stats {
	std::atomic<int64_t> held{0}, most{0}, made{0};

	void move(int64_t size)
	{
		int64_t now = held.fetch_add(size) + size, most_so_far = most.load();
		made++;
		while (now > most_so_far && !most.compare_exchange_weak(most_so_far, now)) {
		}
	}
};

namespace {

struct SystemAllocator {
	static Status Take(int64_t size, uint8_t **out)
	{
		if (size == 0) {
			*out = zero_size_area;
			return Status();
		}
		if (posix_memalign(reinterpret_cast<void **>(out), 64, size))
			return Status(1, "malloc of size " + std::to_string(size) + " failed");
		return Status();
	}
	static Status Resize(int64_t before, int64_t size, uint8_t **pointer)
	{
		uint8_t *old = *pointer, *fresh = nullptr;
		Status taken = Take(size, &fresh);
		if (!taken.ok())
			return taken;
		memcpy(fresh, old, before < size ? before : size);
		if (old != zero_size_area)
			free(old);
		*pointer = fresh;
		return Status();
	}
	static void Release(uint8_t *buffer, int64_t)
	{
		if (buffer != zero_size_area)
			free(buffer);
	}
};

} // namespace

template <typename Allocator> class BaseMemoryPoolImpl : public MemoryPool {
public:
	Status Allocate(int64_t size, ALIGNMENT uint8_t **out) override
	{
		if (size < 0)
			return Status(4, "negative malloc size");
		Status taken = Allocator::Take(size, out);
		if (taken.ok())
			stats.move(size);
		return taken;
	}
	Status Reallocate(int64_t old_size, int64_t new_size, ALIGNMENT uint8_t **pointer) override
	{
		if (new_size < 0)
			return Status(4, "negative realloc size");
		Status taken = Allocator::Resize(old_size, new_size, pointer);
		if (taken.ok())
			stats.move(new_size - old_size);
		return taken;
	}
	void Free(uint8_t *buffer, int64_t size ALIGNMENT_LAST) override
	{
		Allocator::Release(buffer, size);
		stats.move(-size);
	}
	int64_t bytes_allocated() const override { return stats.held.load(); }

private:
	Stats stats;
};

#ifdef HIDDEN
#define VISIBILITY __attribute__((visibility("hidden")))
#else
#define VISIBILITY
#endif

class VISIBILITY SystemMemoryPool : public BaseMemoryPoolImpl<SystemAllocator> {
public:
	~SystemMemoryPool() override;
};
SystemMemoryPool::~SystemMemoryPool() {}

#ifdef NEW_KIND
class VISIBILITY TcmallocMemoryPool : public BaseMemoryPoolImpl<SystemAllocator> {
public:
	~TcmallocMemoryPool() override;
};
TcmallocMemoryPool::~TcmallocMemoryPool() {}
#endif

class ProxyMemoryPool : public MemoryPool {
public:
	explicit ProxyMemoryPool(MemoryPool *pool) : pool(pool) {}
	~ProxyMemoryPool() override {}
	Status Allocate(int64_t size, ALIGNMENT uint8_t **out) override;
	Status Reallocate(int64_t old_size, int64_t new_size, ALIGNMENT uint8_t **pointer) override;
	void Free(uint8_t *buffer, int64_t size ALIGNMENT_LAST) override;
	int64_t bytes_allocated() const override { return pool->bytes_allocated(); }

private:
	MemoryPool *pool;
};
Status ProxyMemoryPool::Allocate(int64_t size, ALIGNMENT uint8_t **out) { return pool->Allocate(size, PASSED out); }
Status ProxyMemoryPool::Reallocate(int64_t old_size, int64_t new_size, ALIGNMENT uint8_t **pointer)
{
	return pool->Reallocate(old_size, new_size, PASSED pointer);
}
void ProxyMemoryPool::Free(uint8_t *buffer, int64_t size ALIGNMENT_LAST) { pool->Free(buffer, size PASSED_LAST); }

} // namespace arrow
