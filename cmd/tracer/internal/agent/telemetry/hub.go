package telemetry

import (
	"encoding/hex"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Keys of labels and annotations that KubeSpawner gives a pod. An annotation has the name itself, a label an escaped
// form that Kubernetes allows.
const (
	userKey      = "hub.jupyter.org/username"
	serverKey    = "hub.jupyter.org/servername"
	componentKey = "app.kubernetes.io/component"
	olderKey     = "component"
	singleUser   = "singleuser-server" // the component of a user's server
)

// The keys of labels and annotations that [HubPod] needs.
var (
	HubLabels      = []string{userKey, serverKey, componentKey, olderKey}
	HubAnnotations = []string{userKey, serverKey}
)

// HubPod returns the user and the server of a pod. isServer is false for a pod that is no user's server. server is ""
// for the default server. Only somebody who may create pods can choose these names, not the pod's own processes.
func HubPod(labels, annotations map[string]string) (user, server string, isServer bool) {
	if labels[componentKey] != singleUser && labels[olderKey] != singleUser {
		return "", "", false
	}
	if user = annotations[userKey]; user != "" {
		return user, annotations[serverKey], true
	}
	user = unescape(labels[userKey])
	return user, unescape(labels[serverKey]), user != ""
}

// unescape undoes the escapes of older KubeSpawners (escapism): "-" and two hexadecimal digits for each byte that is no
// lower-case letter or digit. It returns any other text unchanged.
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
		char, err := hex.DecodeString(rest[1:3])
		if err != nil {
			return text
		}
		name, rest = append(name, char...), rest[3:]
	}
	if !utf8.Valid(name) {
		return text
	}
	return string(name)
}

// hubUnit matches the unit that SystemdSpawner makes for a user.
var hubUnit = regexp.MustCompile(`^jupyter-(.+)-singleuser\.service$`)

// HubUnit returns the user of a control group that SystemdSpawner has made; ok is false for any other group. Only
// groups in the system's slices count, because only root can make those. Below their own groups, users can make groups
// of any name.
func HubUnit(group string) (user string, ok bool) {
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

// unitCharacters are the characters that systemd does not escape in the name of a unit.
const unitCharacters = `abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\@`

// unitName undoes systemd's escapes in the name of a unit, such as \x2b for +. An escape that systemd would not have
// made stays: it is part of the user's name, who must not become another user by it.
func unitName(text string) string {
	var name strings.Builder
	for text != "" {
		if len(text) >= 4 && text[:2] == `\x` && text[2:4] == strings.ToLower(text[2:4]) {
			if char, err := hex.DecodeString(text[2:4]); err == nil && strings.IndexByte(unitCharacters, char[0]) < 0 {
				name.WriteByte(char[0])
				text = text[4:]
				continue
			}
		}
		name.WriteByte(text[0])
		text = text[1:]
	}
	return name.String()
}

// HubVariables are the variables of a server's environment that [HubClaims] needs. Others have tokens and must not be
// read.
var HubVariables = []string{"JUPYTERHUB_USER", "JUPYTERHUB_SERVER_NAME"}

// HubClaims sets JupyterHub's names in claims to those of an environment, which the user can forge.
func HubClaims(variables map[string]string, to *Claims) {
	to.HubUser = Label(variables["JUPYTERHUB_USER"])
	to.HubServer = Label(variables["JUPYTERHUB_SERVER_NAME"])
}

// connectionFile matches the name of a connection file that has the kernel's ID.
var connectionFile = regexp.MustCompile(`^kernel-([0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})\.json$`)

// KernelID returns Jupyter's ID of a kernel from its command line, which the user can forge; "" if there is none.
func KernelID(arguments []string) string {
	for _, argument := range arguments {
		_, value, _ := strings.Cut(argument, "=")
		for _, file := range []string{argument, value} {
			if m := connectionFile.FindStringSubmatch(path.Base(file)); m != nil {
				return strings.ToLower(m[1])
			}
		}
	}
	return ""
}

// Patterns are shell patterns of namespaces, separated by blanks. An empty list matches every namespace.
type Patterns string

// Bad returns the first malformed pattern, "" if there is none.
func (p Patterns) Bad() string {
	for pattern := range strings.FieldsSeq(string(p)) {
		if _, err := path.Match(pattern, ""); err != nil {
			return strconv.Quote(pattern)
		}
	}
	return ""
}

// Match reports whether a namespace matches.
func (p Patterns) Match(namespace string) bool {
	patterns := strings.Fields(string(p))
	for _, pattern := range patterns {
		if match, _ := path.Match(pattern, namespace); match {
			return true
		}
	}
	return len(patterns) == 0
}
