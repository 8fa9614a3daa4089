/* Expandable segments: the driver's own functions map pieces of 2 or 20 MiB into one long range. */
#include <dlfcn.h>

#include "caching.h"
#include "runtime.h"

namespace standin {

static struct Driver {
	CUresult (*AddressReserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
	CUresult (*AddressFree)(CUdeviceptr, size_t);
	CUresult (*Create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *, unsigned long long);
	CUresult (*Release)(CUmemGenericAllocationHandle);
	CUresult (*Map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
	CUresult (*Unmap)(CUdeviceptr, size_t);
	CUresult (*SetAccess)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);

	Driver()
	{
		void *driver = dlopen("libcuda.so.1", RTLD_NOW);
		auto find = [driver](const char *name, auto &to) {
			to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(dlsym(driver, name));
		};
		find("cuMemAddressReserve", AddressReserve);
		find("cuMemAddressFree", AddressFree);
		find("cuMemCreate", Create);
		find("cuMemRelease", Release);
		find("cuMemMap", Map);
		find("cuMemUnmap", Unmap);
		find("cuMemSetAccess", SetAccess);
	}
} *cu;

/* Fabric handles are tried once; if they are not permitted, never again. */
static int handle_types = CU_MEM_HANDLE_TYPE_FABRIC;

Expandable::Expandable(int device, uint64_t piece) : device_(device), piece_(piece)
{
	static std::once_flag once;
	size_t free, total;
	CUdeviceptr found = 0;

	std::call_once(once, [] { cu = new Driver; });
	cudaMemGetInfo(&free, &total);
	size = (total + total / 8 + piece - 1) / piece * piece;
	if (cu->AddressReserve(&found, size, 0, 0, 0))
		throw OutOfMemory("no addresses");
	base = found;
	handles_.resize(size / piece);
}

Expandable::~Expandable()
{
	cu->AddressFree(base, size);
}

bool Expandable::create(size_t first, size_t last)
{
	CUmemAllocationProp prop{};

	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location = { CU_MEM_LOCATION_TYPE_DEVICE, device_ };
	for (size_t i = first; i < last; i++) {
		prop.requestedHandleTypes = handle_types;
		CUresult r = cu->Create(&handles_[i], piece_, &prop, 0);

		if (r == CUDA_ERROR_NOT_PERMITTED && handle_types == CU_MEM_HANDLE_TYPE_FABRIC) {
			handle_types = prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
			r = cu->Create(&handles_[i], piece_, &prop, 0);
		}
		if (r) {
			handles_[i] = 0;
			release(first, i);
			return false;
		}
	}
	return true;
}

void Expandable::release(size_t first, size_t last)
{
	for (size_t i = first; i < last; i++) {
		cu->Release(handles_[i]);
		handles_[i] = 0;
	}
}

uint64_t Expandable::map(uint64_t ptr, uint64_t bytes)
{
	size_t first = (ptr - base) / piece_, last = (ptr + bytes - base + piece_ - 1) / piece_;
	CUmemAccessDesc access{ { CU_MEM_LOCATION_TYPE_DEVICE, device_ }, 3 };

	if (!create(first, last))
		return 0;
	for (size_t i = first; i < last; i++)
		cu->Map(base + i * piece_, piece_, 0, handles_[i], 0);
	cu->SetAccess(base + first * piece_, (last - first) * piece_, &access, 1);
	return (last - first) * piece_;
}

bool Expandable::unmap(uint64_t &ptr, uint64_t &bytes)
{
	size_t first = (ptr - base + piece_ - 1) / piece_, last = (ptr + bytes - base) / piece_;

	if (first >= last)
		return false;
	for (size_t i = first; i < last; i++) {
		cu->Unmap(base + i * piece_, piece_);
		release(i, i + 1);
	}
	ptr = base + first * piece_;
	bytes = (last - first) * piece_;
	return true;
}

}
