// Package pods knows the pods of this node by name. It watches them at Kubernetes' API server, and keeps of each no
// more than its names, its containers and a few labels. A server that is slow, down, or answers nonsense costs names,
// and nothing else waits for it.
package pods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Config is the section of an agent's configuration about Kubernetes. It is read at the start only.
type Config struct {
	// Enabled is true, false or auto, which is true in a pod with a service account.
	Enabled string `yaml:"enabled"`
	// Node is the name of this node; "": the value of the environment variable NODE_NAME.
	Node string `yaml:"node"`
	// Kubeconfig is a file with the API server's address and credentials; "": the pod's service account.
	Kubeconfig string `yaml:"kubeconfig"`
	// CRI is the socket of this node's container runtime, as a further source of names; "": none.
	CRI string `yaml:"cri"`
}

// Auto is the default of [Config.Enabled].
const Auto = "auto"

// Check returns the first field with a wrong value.
func (c *Config) Check() (field string, err error) {
	switch c.Enabled {
	case "true", "false", Auto, "on", "off":
	default:
		return "enabled", fmt.Errorf("%q: must be true, false or auto", c.Enabled)
	}
	if c.Node != "" && !isName(c.Node, maxName) {
		return "node", fmt.Errorf("%q: must be the name of a node", c.Node)
	}
	if c.CRI != "" && !path.IsAbs(c.CRI) {
		return "cri", fmt.Errorf("%q: must be the path of a socket such as /run/containerd/containerd.sock", c.CRI)
	}
	return "", nil
}

// Wanted reports whether the API server is to be asked.
func (c *Config) Wanted() bool {
	switch c.Enabled {
	case "true", "on":
		return true
	case Auto:
		_, err := os.Stat("/var/run/secrets/kubernetes.io/serviceaccount/token")
		return err == nil && os.Getenv("KUBERNETES_SERVICE_HOST") != ""
	}
	return false
}

// client asks the API server for the pods of one node.
type client struct {
	http *http.Client
	pods url.URL // the address of the list of all pods
	node string
}

// open is a function that opens a file with the rights of the person who named it.
type open func(name string) (*os.File, error)

// newClient returns a client for a configuration.
func newClient(c Config, version string, read open) (*client, error) {
	node := cmp.Or(c.Node, os.Getenv("NODE_NAME"))
	if !isName(node, maxName) {
		return nil, errors.New("the name of this node is not known: " +
			"set kubernetes.node, or the environment variable NODE_NAME to spec.nodeName")
	}
	config, err := credentials(c.Kubeconfig, read)
	if err != nil {
		return nil, err
	}
	config.UserAgent = "ipytracer/" + version
	config.DisableCompression = true // a small answer cannot become a large one
	if config.Impersonate.UserName != "" || config.ExecProvider != nil || config.AuthProvider != nil {
		return nil, errors.New("the kubeconfig runs a program or acts as somebody else, which an agent does not: " +
			"give it a token or a certificate")
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("the address of the API server: %w", err)
	}
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("the credentials for the API server: %w", err)
	}
	// client-go's transport would send the token to any address that an answer names.
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client{http: h, pods: *base.JoinPath("/api/v1/pods"), node: node}, nil
}

// maxFile is the greatest size of a kubeconfig and of the files that it names, in bytes.
const maxFile = 1 << 20

// credentials returns the address and the credentials of the API server.
func credentials(kubeconfig string, read open) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("this is no pod with a service account, so set kubernetes.kubeconfig: %w", err)
		}
		return config, nil
	}
	text, err := contents(kubeconfig, read)
	if err != nil {
		return nil, err
	}
	loaded, err := clientcmd.Load([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s is no kubeconfig: %w", kubeconfig, err)
	}
	if err := inline(loaded, read); err != nil {
		return nil, err
	}
	config, err := clientcmd.NewDefaultClientConfig(*loaded, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kubeconfig, err)
	}
	return config, nil
}

// inline replaces the names of files in a kubeconfig by the files' contents. It reads the files with the rights of the
// person who named the kubeconfig: its server, which that person has chosen, must get nothing else.
func inline(c *api.Config, read open) (err error) {
	replace := func(file *string, set func(string)) {
		if *file != "" && err == nil {
			var text string
			text, err = contents(*file, read)
			set(text)
			*file = ""
		}
	}
	for _, cluster := range c.Clusters {
		replace(&cluster.CertificateAuthority, func(s string) { cluster.CertificateAuthorityData = []byte(s) })
	}
	for _, user := range c.AuthInfos {
		replace(&user.ClientCertificate, func(s string) { user.ClientCertificateData = []byte(s) })
		replace(&user.ClientKey, func(s string) { user.ClientKeyData = []byte(s) })
		replace(&user.TokenFile, func(s string) { user.Token = strings.TrimSpace(s) })
	}
	return err
}

// contents reads a file.
func contents(name string, read open) (string, error) {
	f, err := read(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errors.New("it is larger than 1 MiB")
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return string(data), nil
}

// request returns a request for the node's pods with further parameters.
func (c *client) request(ctx context.Context, more url.Values) (*http.Request, error) {
	at := c.pods
	more.Set("fieldSelector", "spec.nodeName="+c.node)
	at.RawQuery = more.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err == nil {
		r.Header.Set("Accept", "application/json")
	}
	return r, err
}
