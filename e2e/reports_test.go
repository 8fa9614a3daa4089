package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ipytracer/model"
)

// strangersAsked are questions of strangers, by their file in testdata/reports, and what the first lines of the report
// must have and must not have. The truth is in the file.
var strangersAsked = map[string][]answerTo{
	"02_memmap_astype": {
		{"still there", `: arr (299\.99|300\.00) MiB \(pages of a file\) · `, true},
		{"still there", ` shared memory`, false},
		{"to free it", `^del arr \((299\.99|300\.00) MiB\) → leaves [0-9.]+ MiB$`, true},
	},
	"02_maps": {
		{"still there", `: priv 45\.00 MiB · (top \+ a|a \+ top) 40\.00 MiB \(pages of a file\)`, true},
		{"still there", ` · anon 35\.00 MiB \(shared memory\) · (b \+ m|m \+ b) 30\.00 MiB \(pages of a file\)`, true},
		{"still there", ` · (shm \+ view|view \+ shm) 25\.00 MiB \(shared memory\)`, true},
		{"still there", ` · c 20\.00 MiB \(pages of a file\)`, true},
	},
	"02_map_and_array": {
		{"still there", `: box 60\.0\d MiB \(40\.00 MiB of it pages of a file\)`, true},
		{"still there", ` ≥ 30\.00 MiB in /var/tmp/… \(deleted\)`, true},
		{"still there", ` 2\d\.\d\d MiB pages of files`, true}, {"still there", `kept|closed`, false},
		{"to free it", `^del box \(60\.0\d MiB\) → leaves [0-9.]+ MiB$`, true},
	},
	"01_out_head_view": {
		{"made by", `^762\.94 MiB numpy In\[6\] line 1 › NDFrame\.copy`, true},
		{"still there", `Out\[3\] 190\.7\d MiB`, true}, {"still there", `Out\[4\] 190\.7\d MiB`, true},
		{"still there", `(Out\[6\] \+ temp|temp \+ Out\[6\]) 190\.7\d MiB`, true},
		{"to free it", `%xdel _3 \(190\.7\d MiB\)`, true},
	},
	"07_dask_unmanaged": {
		{"highest", `with its children`, true}, {"made by", `^workers (1 × |up to )[34]\d\d\.\d\d MiB`, true},
		{"still there", `1 worker \d+\.\d\d MiB \(client\.close\(\) ends it\)`, true},
		{"to free it", `client\.close\(\) \(\d+\.\d\d MiB\)`, true},
	},
	"08_dataloader_cow": { // nothing says how much of the list its workers have copied
		{"highest", `^≈\d+\.\d\d MiB .* in In\[3\], line 6, with its children`, true},
		{"how sure", `^not of all: the highest moment is not known to within its own size`, true},
	},
	"18_lru_cache_method": {
		{"still there", `Model\.logdet \+ m 183\.\d\d MiB`, true},
		{"to free it", `^del m; Model\.logdet\.cache_clear\(\) \(183\.\d\d MiB\)`, true},
	},
	"19_object_array_cycle": {
		{"still there", ` 91\.5\d MiB numpy of In\[\d\] line 1, lost in a cycle that the collector does not see`, true},
		{"still there", ` · lat 30\.5\d MiB`, true},
		{"to free it", `91\.5\d MiB of In\[\d\] line 1 are lost in a cycle .* lat\.cells\[:\] = None before`, true},
		{"to free it", `gc\.collect`, false},
	},
	"shared_task": {
		{"still there", `: 110\.00 MiB numpy of In\[\d\] line 3 poll · `, true},
		{"to free it", `; task leads to 11\d\.\d\d MiB that the event loop has, too: task\.cancel\(\); del task `,
			true},
	},
	"shared_handler": {
		{"still there", `: 80\.00 MiB numpy of In\[\d\] line 1 · `, true},
		{"to free it", `; h leads to 80\.\d\d MiB that something else has, too; log leads to 80\.`, true},
		{"to free it", `del `, false},
	},
	"21_run_module_reset": {
		{"still there", `dummy_mem\.arr 256\.00 MiB`, true},
		{"to free it", `^import sys; sys\.modules\['dummy_mem'\]\.arr = None \(256\.00 MiB\)`, true},
	},
	"21_run_names": {
		{"still there", `: S \+ %run 160\.00 MiB · `, true},
		{"to free it", `^del S; get_ipython\(\)\._main_mod_cache\.clear\(\); import gc; gc\.collect\(\); \(160`, true},
	},
	"28_thread_child": {
		{"highest", `with its children`, true}, {"made by", `child processes 1 × 30\d\.\d\d MiB`, true},
		{"still there", `1 child process 30\d\.\d\d MiB \(p\.terminate\(\) ends it\)`, true},
		{"to free it", `^p\.terminate\(\) \(30\d\.\d\d MiB\)`, true},
	},
	"29_tie_highest": {
		{"highest", ` in In\[4\], line 1`, true}, {"made by", `^201\.00 MiB numpy In\[4\] line 1`, true},
		{"made by", `In\[3\]`, false},
	},
	"32_stacks_and_bytes": {
		{"made by", `^~(29|30)\d\.\d\d MiB resident .* go `, true},
		{"made by", `\d\d\.\d\d MiB mapped .* start`, false},
	},
	"36_multi_del_prediction": {
		{"to free it", `^del parts; import ctypes; ctypes\.CDLL\(None\)\.malloc_trim\(0\) \(19[12]\.\d\d MiB\)`,
			true},
	},
	"38_bash_magic": {
		{"highest", `with its children`, true},
		{"still there", `1 child process 2\d\d\.\d\d MiB \(os\.kill\(\d+, signal\.SIGTERM\) ends it\)`, true},
	},
	"39_ended_children": {
		{"made by", `^400\.00 MiB numpy In\[3\] line 3`, true}, {"made by", `child processes 1 × 6\d\.\d\d MiB`, true},
	},
	"43_shared_names_twice": {
		{"still there", `: (a \+ b|b \+ a) 50\.00 MiB`, true}, {"still there", ` numpy of `, false},
		{"to free it", `^del (a, b|b, a) \(50\.00 MiB\) → leaves [0-9.]+ MiB$`, true},
	},
	"43_dict_and_class": {
		{"still there", `kept \+ Model\.cache 50\.0\d MiB · (a \+ d|d \+ a) 40\.00 MiB`, true},
		{"still there", ` · Model\.weights 10\.00 MiB`, true},
		{"still there", ` numpy of `, false},
		{"to free it", `del kept; Model\.cache = None \(50\.0\d MiB\)`, true},
		{"to free it", `Model\.weights = None; Model\.same = None \(10\.00 MiB\)`, true},
		{"to free it", `tracer audit`, false},
	},
	"43_three_holders": {
		{"still there", `: [abc] \+ [abc] \+ [abc] 50\.00 MiB · [gh] \+ [gh] 4\d\.\d\d MiB`, true},
		{"still there", ` · e = f 30\.00 MiB`, true},
		{"still there", ` numpy of `, false}, {"to free it", `tracer audit`, false},
	},
	"43_frame_and_values": {
		{"still there", `: (df|v|column) \+ (df|v|column) \+ (df|v|column) 50\.0\d MiB`, true},
		{"still there", ` numpy of `, false},
	},
	"43_same_line": {
		{"still there", `: (a \+ b|b \+ a) 50\.00 MiB · json\.kept 40\.00 MiB`, true},
		{"still there", ` numpy of `, false},
	},
	"48_holder_gone_at_end": {
		{"highest", ` in In\[7\], line 1`, true}, {"made by", `^200\.00 MiB numpy In\[7\] line 1`, true},
		{"to free it", `^del [abcd], [abcd], [abcd], [abcd] \(480\.0\d MiB\)`, true},
	},
	"49_holder_applied": {
		{"highest", ` in In\[7\], line 1`, true}, {"made by", `^200\.00 MiB numpy In\[7\] line 1`, true},
	},
	"50_which_starts_by_thread": {
		{"highest", `with its children`, true},
		{"made by", `child processes (up to |2 × |2\d\.\d\d MiB \+ )2?\d`, true},
	},
	"losses_apart": {
		{"still there", `: ((total|hist|preds) ≥ 15[67]\.\d\d MiB · ){3}`, true},
		{"still there", ` torch of `, false},
		{"to free it", `^del ((total|hist|preds)(, )?){3}(;.*)? \(≥ [4-6]\d\d\.\d\d MiB\) → leaves at most `, true},
		{"to free it", `opt|net|tracer audit`, false},
	},
	"losses_of_functions": {
		{"still there", `: cubes ≥ 137\.\d\d MiB · again ≥ 45\.\d\d MiB · node ≥ 30\.\d\d MiB`, true},
		{"still there", ` torch of `, false},
	},
	"40_cow_needed": {
		{"made by", `^~(19|20)\d\.\d\d MiB resident In\[2\]`, true},
		{"made by", `forked processes 2 × 5\d\.\d\d MiB`, true},
	},
}

// typedToo are those of which the advised code is typed: resident memory falls by what was said.
var typedToo = map[string]bool{
	"21_run_names":          true,
	"43_shared_names_twice": true, "43_dict_and_class": true, "43_three_holders": true, "43_frame_and_values": true,
	"43_same_line": true, "02_memmap_astype": true, "02_maps": true, "02_map_and_array": true,
	"losses_apart": true, "losses_of_functions": true,
}

// reportNeeds are modules that reports import beside NumPy.
var reportNeeds = map[string]string{
	"01_out_head_view": "pandas", "07_dask_unmanaged": "distributed", "08_dataloader_cow": "torch",
	"losses_apart": "torch", "losses_of_functions": "torch",
}

// answerTo is a pattern that a line of the first screen matches, or does not match.
type answerTo struct {
	line, pattern string
	matches       bool
}

// TestReports asks what strangers asked: each notebook runs in a real kernel, and the first screen is compared with the
// truth.
func TestReports(t *testing.T) {
	together(t)
	all := &origins{}
	t.Run("all", func(t *testing.T) { everyReport(t, all) })
	all.check(t)
}

func everyReport(t *testing.T, all *origins) {
	for name, answers := range strangersAsked {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if module := reportNeeds[name]; module != "" {
				needModules(t, module)
			}
			w := startWorkload(t, place{driver: "run_reports.py"}, []string{name})
			recording := filepath.Join(t.TempDir(), "run.arrows")
			tr := attach(t, w.pid, "--budget", "off", "--record", recording)
			w.run()
			living := residentBelow(w.pid)
			r, _ := tr.stop()
			if typedToo[name] {
				w.typeAll(r.ToFree)
			}
			checkLiving(t, r, w.pid, living)
			all.add(t, r)
			if len(r.Accounts) != 2 || r.Accounts[0].At != model.AtHighest || r.Accounts[1].At != model.AtEnd {
				t.Errorf("accounts: %+v", r.Accounts)
			}
			out, err := exec.Command(binary, "report", recording).Output()
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(out), "\n\n")
			t.Log("\n" + first)
			of := answersIn(first)
			for _, a := range answers {
				if regexp.MustCompile(a.pattern).MatchString(of[a.line]) != a.matches {
					t.Errorf("%s: %q: %q must match: %v", a.line, of[a.line], a.pattern, a.matches)
				}
			}
		})
	}
}

// answersIn returns the first lines of a report by their questions, each in one piece.
func answersIn(first string) map[string]string {
	of, question := map[string]string{}, ""
	for line := range strings.SplitSeq(first, "\n") {
		if len(line) <= 13 {
			continue
		}
		if head := strings.TrimSpace(line[:13]); head != "" {
			question = head
		}
		of[question] = strings.TrimSpace(of[question] + " " + strings.TrimSpace(line[13:]))
	}
	return of
}

// residentBelow returns the resident bytes of each child of a process by smaps_rollup, whichever thread started it.
func residentBelow(pid int) map[int]int64 {
	below := map[int]int64{}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for child := range strings.FieldsSeq(string(text)) {
			number, _ := strconv.Atoi(child)
			rollup, _ := os.ReadFile("/proc/" + child + "/smaps_rollup")
			if m := rss.FindSubmatch(rollup); m != nil {
				kib, _ := strconv.ParseInt(string(m[1]), 10, 64)
				below[number] = kib << 10
			}
		}
	}
	return below
}

// checkLiving checks that a report has the children of a kernel that still ran, with their parent, their size, and what
// ends them, and that every parent in the report is a process.
func checkLiving(t *testing.T, r *model.Report, kernel int, living map[int]int64) {
	t.Helper()
	known := map[int]bool{0: true}
	for _, p := range r.Processes {
		known[p.PID] = true
	}
	for _, p := range r.Processes {
		if !known[p.Parent] {
			t.Errorf("process %d, %s, has the parent %d, which is no process", p.PID, p.Command, p.Parent)
		}
		bytes, lives := living[p.PID]
		if !lives || p.Ended {
			continue
		}
		delete(living, p.PID)
		end := p.Meters["cpu.resident"].End
		if p.Parent != kernel || p.EndedBy == nil || max(end-bytes, bytes-end) > 1<<20 {
			t.Errorf("process %d, %s, has %d bytes, and %d by smaps_rollup; parent %d, ended by %+v",
				p.PID, p.Command, end, bytes, p.Parent, p.EndedBy)
		}
	}
	if len(living) > 0 {
		t.Errorf("living children that the report lacks: %v", living)
	}
}
