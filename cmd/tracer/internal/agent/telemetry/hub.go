package telemetry

import (
	"encoding/hex"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// HubLabels and annotations of a pod that [HubPod] needs. KubeSpawner sets all of them; the annotations have the names
// as they are, the labels in a form that Kubernetes allows.
const (
	userKey      = "hub.jupyter.org/username"
	serverKey    = "hub.jupyter.org/servername"
	componentKey = "app.kubernetes.io/component"
	olderKey     = "component"
	singleUser   = "singleuser-server" // the component of a user's server
)

// HubLabels and Annotations are the keys that [HubPod] looks at.
var (
	HubLabels      = []string{userKey, serverKey, componentKey, olderKey}
	HubAnnotations = []string{userKey, serverKey}
)

// HubPod returns the user and the server of a pod; is reports whether it is a user's server. Server is empty for the
// default one. Who may create pods chooses these names; the pod's own processes cannot.
func HubPod(labels, annotations map[string]string) (user, server string, is bool) {
	if labels[componentKey] != singleUser && labels[olderKey] != singleUser {
		return "", "", false
	}
	if user = annotations[userKey]; user != "" {
		return user, annotations[serverKey], true
	}
	user = unescape(labels[userKey])
	return user, unescape(labels[serverKey]), user != ""
}

// unescape returns the name of a label of an older KubeSpawner, which has "-" and two hexadecimal digits for each byte
// that is not a lower-case letter or a digit (escapism). A text that no name could have become stays as it is.
func unescape(text string) string {
	var name []byte
	for rest := text; rest != ""; {
		if rest[0] != '-' {
			name, rest = append(name, rest[0]), rest[1:]
			continue
		}
		if len(rest) < 3 {
			return text
		}
		one, err := hex.DecodeString(rest[1:3])
		if err != nil {
			return text
		}
		name, rest = append(name, one...), rest[3:]
	}
	if !utf8.Valid(name) {
		return text
	}
	return string(name)
}

// hubUnit matches the unit that SystemdSpawner makes for a user.
var hubUnit = regexp.MustCompile(`^jupyter-(.+)-singleuser\.service$`)

// HubUnit returns the user of a control group that a unit of SystemdSpawner has made; is reports whether one has. Only
// units of the system count: root alone makes groups in the system's slices, while users make units and groups with any
// name below their own.
func HubUnit(group string) (user string, is bool) {
	for part := range strings.SplitSeq(strings.TrimPrefix(path.Clean("/"+group), "/"), "/") {
		if m := hubUnit.FindStringSubmatch(part); m != nil {
			return unitName(m[1]), true
		}
		if !strings.HasSuffix(part, ".slice") || part == "user.slice" || strings.HasPrefix(part, "user-") {
			return "", false
		}
	}
	return "", false
}

// unitCharacters are the characters that systemd leaves in the name of a unit as they are.
const unitCharacters = `abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\@`

// unitName undoes systemd's escapes in the name of a unit: \x2b for +. What systemd would not have escaped was in the
// name of the hub's user, who is nobody else by that.
func unitName(text string) string {
	var name strings.Builder
	for text != "" {
		if len(text) >= 4 && text[:2] == `\x` && text[2:4] == strings.ToLower(text[2:4]) {
			if one, err := hex.DecodeString(text[2:4]); err == nil && strings.IndexByte(unitCharacters, one[0]) < 0 {
				name.WriteByte(one[0])
				text = text[4:]
				continue
			}
		}
		name.WriteByte(text[0])
		text = text[1:]
	}
	return name.String()
}

// HubVariables are the variables of a server's environment that [HubClaims] needs. Tokens stand beside them.
var HubVariables = []string{"JUPYTERHUB_USER", "JUPYTERHUB_SERVER_NAME"}

// HubClaims adds the names in an environment, which its user can forge, to claims.
func HubClaims(variables map[string]string, to *Claims) {
	to.HubUser = Label(variables["JUPYTERHUB_USER"])
	to.HubServer = Label(variables["JUPYTERHUB_SERVER_NAME"])
}

// connectionFile matches the name of a connection file; runtimes that start kernels name them with the kernel's id.
var connectionFile = regexp.MustCompile(`^kernel-([0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})\.json$`)

// KernelID returns Jupyter's id of a kernel by its command line, which its user can forge; "" if that has none.
func KernelID(arguments []string) string {
	for _, one := range arguments {
		_, value, _ := strings.Cut(one, "=")
		for _, file := range []string{one, value} {
			if m := connectionFile.FindStringSubmatch(path.Base(file)); m != nil {
				return strings.ToLower(m[1])
			}
		}
	}
	return ""
}

// Patterns are shell patterns of namespaces, with blanks between them. None match every namespace.
type Patterns string

// Bad returns the first malformed pattern, "" if there is none.
func (p Patterns) Bad() string {
	for one := range strings.FieldsSeq(string(p)) {
		if _, err := path.Match(one, ""); err != nil {
			return strconv.Quote(one)
		}
	}
	return ""
}

// Match reports whether a namespace matches.
func (p Patterns) Match(namespace string) bool {
	all := strings.Fields(string(p))
	for _, one := range all {
		if match, _ := path.Match(one, namespace); match {
			return true
		}
	}
	return len(all) == 0
}
