package saved

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/host/privileges"
	"ipytracer/internal/report/formats"
	"ipytracer/internal/report/html"
	"ipytracer/internal/report/site"
	"ipytracer/report"
)

// viewOptions are the flags of `tracer view`.
type viewOptions struct {
	Port     int
	NoSource bool
	Site     string
}

func newViewCommand(c console.Console) *cobra.Command {
	var o viewOptions
	cmd := &cobra.Command{
		Use:   "view {FILE | --site DIR}",
		Short: "Show a recording in a browser, also while it grows",
		Long: "Show a recording as the page that 'tracer report --format html' writes, " +
			"to browsers on this machine, until Ctrl-C.\n" +
			"Of a session that still runs ('tracer attach --record FILE') the page follows the recording " +
			"while it grows.\n\n" +
			"Only whoever has the printed address sees the page: the tracer listens on 127.0.0.1, " +
			"and the address holds a secret.\n\n" +
			"--site writes files for any web server instead: a page that opens recordings, and compares two, in the " +
			"browser of whoever has them. Nothing of a recording leaves that machine.",
		Example: "  tracer view run.arrows\n  tracer view --site public/",
		Args: console.Args(func(cmd *cobra.Command, args []string) error {
			if o.Site != "" {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Site != "" {
				return writeSite(c, o.Site)
			}
			return runView(cmd.Context(), o, c, args[0])
		},
	}
	cmd.Flags().IntVar(&o.Port, "port", 0, "listen on port `N` (0: any that is free)")
	cmd.Flags().BoolVar(&o.NoSource, "no-source", false, "keep the notebook's source out of the page")
	cmd.Flags().StringVar(&o.Site, "site", "",
		"write the page that opens recordings into `DIR`, a new or empty folder, and end")
	return cmd
}

// writeSite writes the site that this program carries, as the user who typed the command.
func writeSite(c console.Console, dir string) error {
	files, err := site.Files()
	if err != nil {
		return err
	}
	rights, err := privileges.FindRights()
	if err != nil {
		return err
	}
	defer rights.Close()
	err = rights.Do(func() error {
		if err := site.Prepare(dir); err != nil {
			return err
		}
		return site.Write(files, dir)
	})
	if err != nil {
		return fmt.Errorf("write the site: %w", err)
	}
	c.Say("%s is ready for any web server; on this machine: python3 -m http.server -b 127.0.0.1 -d %s", dir, dir)
	return nil
}

func runView(ctx context.Context, o viewOptions, c console.Console, path string) error {
	if o.Port < 0 || o.Port > 65535 {
		return console.Usagef("--port %d: must be a number from 0 to 65535", o.Port)
	}
	who, err := privileges.FindInvoker()
	if err != nil {
		return err
	}
	rights, err := who.Rights()
	if err != nil {
		return err
	}
	defer rights.Close()
	file, err := rights.Open(path)
	if err != nil {
		return fmt.Errorf("read the recording: %w", err)
	}
	defer file.Close()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port)))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer listener.Close()
	// A recording may come from any source, and so may requests.
	if err := console.Seclude(who, nil, answerCalls(), func(error) {}); err != nil {
		return err
	}
	v := &viewer{file: file, noSource: o.NoSource, host: listener.Addr().String(), token: rand.Text(), ctx: ctx}
	if err := v.read(); err != nil {
		return console.NotRecorded(path, err)
	}
	fmt.Fprintf(c.Out, "http://%s/%s/\n", v.host, v.token)
	c.Say("open this address in a browser on this machine; Ctrl-C ends")
	return v.serve(ctx, listener)
}

// answerCalls are the system calls that answering browsers takes, besides those of reading.
func answerCalls() []privileges.Rule {
	return privileges.Always(unix.SYS_ACCEPT4, unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME, unix.SYS_GETSOCKOPT,
		unix.SYS_SETSOCKOPT, unix.SYS_SHUTDOWN)
}

// serve answers until the context ends.
func (v *viewer) serve(ctx context.Context, on net.Listener) error {
	server := &http.Server{
		Handler: v, ConnContext: v.guests.begin, ConnState: v.guests.follow, ErrorLog: log.New(io.Discard, "", 0),
		ReadTimeout: 10 * time.Second, WriteTimeout: 2 * time.Minute, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(on) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return server.Close()
	}
}

// ServeHTTP answers requests to this host that have the secret in their path.
func (v *viewer) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	head := response.Header()
	head.Set("Cache-Control", "no-store")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	token, resource, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
	switch {
	case request.Host != v.host:
		http.Error(response, "not this host", http.StatusMisdirectedRequest)
	case request.Method != http.MethodGet && request.Method != http.MethodHead:
		http.Error(response, "only reading", http.StatusMethodNotAllowed)
	case subtle.ConstantTimeCompare([]byte(token), []byte(v.token)) != 1:
		http.NotFound(response, request)
	case resource == "":
		v.answer(response, request, true)
	case resource == "data":
		v.answer(response, request, false)
	default:
		http.NotFound(response, request)
	}
}

// answer sends the newest page, or only its data, to a browser that has the secret. It sends no data if the page has
// them already.
func (v *viewer) answer(response http.ResponseWriter, request *http.Request, page bool) {
	v.guests.admit(request)
	data, version, err := v.newest()
	if err != nil {
		http.Error(response, "the recording cannot be read now", http.StatusServiceUnavailable)
		return
	}
	if !page {
		if request.URL.Query().Get("have") == strconv.Itoa(version) {
			response.WriteHeader(http.StatusNoContent)
			return
		}
		response.Header().Set("Content-Type", "application/json")
		_, _ = response.Write(data)
		return
	}
	o := html.Options{Version: version}
	response.Header().Set("Content-Type", "text/html; charset=utf-8")
	response.Header().Set("Content-Security-Policy", html.Policy(o)+"; frame-ancestors 'none'")
	var b bytes.Buffer
	_ = html.Assemble(&b, data, o) // writing to memory cannot fail
	_, _ = response.Write(b.Bytes())
}

// A page is made of the whole recording, because later events can change a cell's figures. So a growing recording is
// read from its beginning each time, when a browser asks.
const (
	// readingShare is the reciprocal of the share of time that reading a growing recording may take.
	readingShare = 10
	// Once a recording has not grown for stillAfter, reading may take half of the time.
	stillAfter = 3 * time.Second
)

// viewer answers browsers with the page of a recording.
type viewer struct {
	file     *os.File
	noSource bool
	// host is the only name that a browser may use for this server. An attacker's name may lead here, too (DNS
	// rebinding).
	host   string
	token  string
	ctx    context.Context // its end ends reading
	guests guests

	mu       sync.Mutex
	version  int           // of the page, from 1
	data     []byte        // of the page
	readSize int64         // of the recording at the last reading
	readErr  error         // of the last reading
	reading  chan struct{} // closed at the end of the reading under way; nil: nothing is read
	readTime time.Duration // duration of the last reading
	readAt   time.Time     // end of the last reading
	lastSize int64         // the recording's size at the last request
	grownAt  time.Time     // the last change of that size
}

// newest returns the newest page. Meanwhile it has the recording read again, if it has grown and it is time.
func (v *viewer) newest() (data []byte, version int, err error) {
	info, err := v.file.Stat()
	if err != nil {
		return nil, 0, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if info.Size() != v.lastSize {
		v.lastSize, v.grownAt = info.Size(), now
	}
	if info.Size() != v.readSize && v.reading == nil && v.isTime(now) {
		ended := make(chan struct{})
		v.reading = ended
		go func() {
			defer close(ended)
			_ = v.read() // newest returns the error to the next request
		}()
	}
	return v.data, v.version, v.readErr
}

// isTime reports whether the recording may be read again.
func (v *viewer) isTime(now time.Time) bool {
	rest := (readingShare - 1) * v.readTime
	if now.Sub(v.grownAt) >= stillAfter {
		rest = v.readTime
	}
	return now.Sub(v.readAt) >= rest
}

// read reads the recording and makes its page.
func (v *viewer) read() error {
	began := time.Now()
	size, data, err := v.page(v.version + 1) // no other goroutine counts meanwhile
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reading, v.readErr = nil, err
	v.readAt = time.Now()
	v.readTime = v.readAt.Sub(began)
	v.readSize = size // even for an unreadable one: the next try is when it has grown
	if err == nil {
		v.data = data
		v.version++
	}
	return err
}

// page returns the page of the recording so far.
func (v *viewer) page(version int) (size int64, data []byte, err error) {
	info, err := v.file.Stat()
	if err != nil {
		return 0, nil, err
	}
	size = info.Size()
	tracker, findings := attribution.NewAudited()
	if _, err := readRecording(v.ctx, io.NewSectionReader(v.file, 0, size), tracker.Add); err != nil {
		return size, nil, err
	}
	r, audit := tracker.Stream(), findings.Audit(formats.LeastLeak)
	if v.noSource {
		r, audit = report.WithoutSource(r), report.AuditWithoutSource(audit)
	}
	data, err = html.Data(r, html.Options{Audit: audit, Version: version})
	return size, data, err
}
