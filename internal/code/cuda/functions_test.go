package cuda

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Reasons for which a function that takes or gives memory is not probed.
const (
	ofContext = "what a context or its kernels need, which no call asks for in bytes: it is in NVML's figure"
	ofGraph   = "memory of a graph's nodes, which each launch takes and gives: it is in NVML's figure"
	ofOthers  = "memory that another process or interface has made: it does not count here"
	ofPages   = "moves pages of managed memory between GPU and host: what is allocated stays the same"
	ofPool    = "memory that a pool keeps for later: only allocated memory counts"
	ofRange   = "addresses without memory"
	ofMany    = "an object of several GPUs: its memory is from cuMemCreate"
	ofNothing = "is about memory that exists"
	ofGreen   = "a context on a part of a GPU: as it is not known, the GPU of its memory is a guess"
)

// passedOver are the driver's other functions that take, give or move memory, by the reason for which they are not
// probed (cuda.h of CUDA 11 to 13.2). Versions of a name (_v2, _ptsz) are the same.
var passedOver = map[string]string{
	ofContext: "cuCtxAttach cuCtxDetach cuCtxResetPersistingL2Cache cuCtxSetLimit cuDevicePrimaryCtxSetFlags " +
		"cuEventCreate cuEventDestroy cuFuncLoad cuGLCtxCreate cuGraphicsD3D9CtxCreate cuGreenCtxStreamCreate " +
		"cuLaunchKernel cuLibraryGetManaged cuLibraryLoadData cuLibraryLoadFromFile cuLibraryUnload cuLinkCreate " +
		"cuLinkDestroy cuModuleLoad cuModuleLoadData cuModuleLoadDataEx cuModuleLoadFatBinary cuModuleUnload " +
		"cuStreamCreate cuStreamCreateWithPriority cuStreamDestroy cuSurfObjectCreate cuSurfObjectDestroy " +
		"cuTexObjectCreate cuTexObjectDestroy cuTexRefCreate cuTexRefDestroy cuUserObjectCreate " +
		"cuUserObjectRelease cuUserObjectRetain cuVDPAUCtxCreate",
	ofGraph: "cuDeviceGraphMemTrim cuGraphAddMemAllocNode cuGraphAddMemFreeNode cuGraphAddNode " +
		"cuGraphConditionalHandleCreate cuGraphCreate cuGraphDestroy cuGraphDestroyNode cuGraphExecDestroy " +
		"cuGraphInstantiate cuGraphInstantiateWithFlags cuGraphInstantiateWithParams cuGraphLaunch " +
		"cuGraphMemAllocNodeGetParams cuGraphMemFreeNodeGetParams cuGraphReleaseUserObject " +
		"cuGraphRetainUserObject cuGraphUpload",
	ofOthers: "cuDestroyExternalMemory cuDestroyExternalSemaphore cuEGLStreamConsumerReleaseFrame " +
		"cuEventCreateFromEGLSync cuExternalMemoryGetMappedBuffer cuExternalMemoryGetMappedMipmappedArray " +
		"cuGLMapBufferObject cuGLMapBufferObjectAsync cuGLRegisterBufferObject cuGLSetBufferObjectMapFlags " +
		"cuGLUnmapBufferObject cuGLUnmapBufferObjectAsync cuGLUnregisterBufferObject cuGraphicsEGLRegisterImage " +
		"cuGraphicsGLRegisterBuffer cuGraphicsGLRegisterImage cuGraphicsMapResources " +
		"cuGraphicsResourceGetMappedEglFrame cuGraphicsResourceGetMappedMipmappedArray " +
		"cuGraphicsResourceGetMappedPointer cuGraphicsResourceSetMapFlags cuGraphicsSubResourceGetMappedArray " +
		"cuGraphicsUnmapResources cuGraphicsUnregisterResource cuGraphicsVDPAURegisterOutputSurface " +
		"cuGraphicsVDPAURegisterVideoSurface cuImportExternalMemory cuImportExternalSemaphore " +
		"cuIpcOpenEventHandle cuMemExportToShareableHandle cuMemPoolExportPointer " +
		"cuMemPoolExportToShareableHandle cuMemPoolImportFromShareableHandle cuMemPoolImportPointer",
	ofPages: "cuMemAdvise cuMemDiscardAndPrefetchBatchAsync cuMemDiscardBatchAsync cuMemPrefetchAsync " +
		"cuMemPrefetchBatchAsync cuStreamAttachMemAsync",
	ofPool: "cuMemPoolDestroy cuMemPoolGetAccess cuMemPoolGetAttribute cuMemPoolSetAccess cuMemPoolSetAttribute " +
		"cuMemPoolTrimTo",
	ofRange: "cuMemAddressFree cuMemAddressReserve",
	ofMany:  "cuMulticastAddDevice cuMulticastBindAddr cuMulticastBindMem cuMulticastCreate cuMulticastUnbind",
	ofGreen: "cuCtxFromGreenCtx cuGreenCtxCreate cuGreenCtxDestroy",
	ofNothing: "cuMemGetAllocationGranularity cuMemGetAllocationPropertiesFromHandle cuMemMapArrayAsync " +
		"cuPointerSetAttribute",
}

// memoryWords are words in the names of functions that give, take, move or lend memory.
var memoryWords = regexp.MustCompile(`Alloc|Free|Pool|Create|Destroy|Register|Map|Import|Export|Retain|Release|` +
	`Trim|Instantiate|Upload|Load|SetLimit|Reserve|Prefetch|Discard|Reset|Bind|Open|Close|Managed|Attach|GraphLaunch`)

// harmless are functions with such a word that only look at objects, or change none of the memory.
var harmless = regexp.MustCompile(`Get(?:Info|Flags|Attribute|Params|Address|Loaded|LoadingMode|Properties)|` +
	`GetDescriptor|` +
	`Get(?:MemAccess|MemPoolAccess|MipmappedArray)|IsLoaded|Unregister(?:Async|Callback)|Mipmap(?:Filter|Level)|` +
	`Register(?:Async|Callback|Start|Complete)|^cuTensorMap|^cuTexRef[SG]et|^cuLogs|^cuCoredump|SetMipmappedArray|` +
	`Mipmapped.*Get|Exchange|ExportTable`)

// version is the end of a name that has the function's version, or its default stream.
var version = regexp.MustCompile(`(?:_v\d)?(?:_ptsz|_ptds)?$`)

// TestAllFunctionsAreJudged: each function of the driver that gives, takes or moves memory is probed, or passed over
// for a reason. testdata/driver-*.txt have the exported names of drivers.
func TestAllFunctionsAreJudged(t *testing.T) {
	passed := map[string]bool{}
	for reason, names := range passedOver {
		for _, name := range strings.Fields(names) {
			if _, probed := functions[name]; probed || passed[name] {
				t.Errorf("%s is probed, or passed over twice: %s", name, reason)
			}
			passed[name] = true
		}
	}
	files, err := filepath.Glob("testdata/driver-*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		judged := 0
		for lines := bufio.NewScanner(f); lines.Scan(); {
			name := strings.TrimSpace(lines.Text())
			if name == "" || name[0] == '#' || !memoryWords.MatchString(name) || harmless.MatchString(name) {
				continue
			}
			if !passed[version.ReplaceAllString(name, "")] && !isProbed(name) {
				t.Errorf("%s: %s is neither probed nor passed over", filepath.Base(file), name)
			}
			judged++
		}
		if judged < 5 {
			t.Errorf("%s has %d functions of memory", file, judged)
		}
	}
}

func isProbed(name string) bool {
	plain := version.ReplaceAllString(name, "")
	for _, n := range []string{name, plain, plain + "_v2"} {
		if _, ok := functions[n]; ok {
			return true
		}
		if _, ok := checkpoints[n]; ok {
			return true
		}
	}
	return strings.HasPrefix(name, "cuCheckpoint") // they lock and look at processes
}
