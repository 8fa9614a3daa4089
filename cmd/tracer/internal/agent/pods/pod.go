package pods

import (
	"bytes"
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Pod is what is kept of a pod. It does not change.
type Pod struct {
	UID, Namespace, Name string
	Labels, Annotations  map[string]string // of the wanted keys
	containers           map[string]string // names by ID
}

// Bounds on what is kept.
const (
	maxPods       = 2000
	maxContainers = 128
	maxValue      = 1024 // of a label or an annotation, in bytes
)

// wirePod has the parts of Kubernetes' pod that are decoded.
type wirePod struct {
	Metadata struct {
		UID, Namespace, Name, ResourceVersion string
		Labels, Annotations                   map[string]string
	}
	Spec   struct{ NodeName string }
	Status struct {
		ContainerStatuses, InitContainerStatuses, EphemeralContainerStatuses wireContainers
	}
}

// wireContainers are the first maxContainers containers of a list.
type wireContainers []wireContainer

// UnmarshalJSON implements [json.Unmarshaler].
func (containers *wireContainers) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if first, err := d.Token(); err != nil || first != json.Delim('[') {
		return err
	}
	for d.More() && len(*containers) < maxContainers {
		var container wireContainer
		if err := d.Decode(&container); err != nil {
			return err
		}
		*containers = append(*containers, container)
	}
	return nil
}

type wireContainer struct {
	Name, ContainerID string
	LastState         struct{ Terminated struct{ ContainerID string } }
}

// Lengths of names that Kubernetes allows (RFC 1123).
const (
	maxName  = 253 // of a pod or a node: labels with dots between them
	maxLabel = 63  // of a namespace or a container
)

// isName reports whether a text is a name that Kubernetes allows.
func isName(text string, longest int) bool {
	for i, c := range []byte(text) {
		inner := i > 0 && i < len(text)-1 && (c == '-' || c == '.' && longest == maxName)
		if !inner && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return text != "" && len(text) <= longest
}

// isHex reports whether a text has the given length and only hexadecimal digits. A text of lengthOfUID must have a
// UID's dashes.
func isHex(text string, length int) bool {
	for i, c := range []byte(text) {
		wantsDash := length == lengthOfUID && (i == 8 || i == 13 || i == 18 || i == 23)
		isDigit := c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
		if wantsDash && c != '-' || !wantsDash && !isDigit {
			return false
		}
	}
	return len(text) == length
}

const (
	lengthOfUID       = 36
	lengthOfContainer = 64
)

// strip returns what is kept of a pod. ok is false for a pod of another node, and for a pod with names that Kubernetes
// does not allow.
func (w *wirePod) strip(node string, wanted *Wanted) (p Pod, ok bool) {
	m := &w.Metadata
	if w.Spec.NodeName != node || !isHex(m.UID, lengthOfUID) || !isName(m.Namespace, maxLabel) ||
		!isName(m.Name, maxName) {
		return p, false
	}
	p = Pod{UID: m.UID, Namespace: m.Namespace, Name: m.Name, containers: map[string]string{}}
	p.Labels, p.Annotations = selectKeys(m.Labels, wanted.Labels), selectKeys(m.Annotations, wanted.Annotations)
	for _, containers := range []wireContainers{
		w.Status.ContainerStatuses, w.Status.InitContainerStatuses, w.Status.EphemeralContainerStatuses,
	} {
		for _, c := range containers {
			p.addContainer(c.ContainerID, c.Name)
			p.addContainer(c.LastState.Terminated.ContainerID, c.Name)
		}
	}
	return p, true
}

// addContainer adds a container, if there is room and its ID RUNTIME://ID and its name are valid.
func (p *Pod) addContainer(uri, name string) {
	_, id, found := strings.Cut(uri, "://")
	if !found || len(p.containers) >= maxContainers || !isHex(id, lengthOfContainer) || !isName(name, maxLabel) {
		return
	}
	p.containers[id] = name
}

// selectKeys returns the labels with wanted keys, without overlong values.
func selectKeys(labels map[string]string, wanted []string) map[string]string {
	out := map[string]string{}
	for _, key := range wanted {
		if value, ok := labels[key]; ok && len(value) <= maxValue {
			out[key] = strings.Clone(value)
		}
	}
	return out
}

// object is a pod as client-go's reflector takes it. It lives only until the reflector has stored the pod.
type object struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	pod Pod
}

func (o *object) DeepCopyObject() runtime.Object {
	c := *o
	return &c
}

// list is a list of pods as the reflector takes it.
type list struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []object
}

func (l *list) DeepCopyObject() runtime.Object {
	c := *l
	return &c
}

func newObject(p Pod, version string) object {
	o := object{pod: p}
	o.UID, o.ResourceVersion = types.UID(p.UID), version
	return o
}
