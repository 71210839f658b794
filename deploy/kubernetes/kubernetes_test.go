// Package kubernetes_test puts the manifests together as "kubectl apply -k" does, and holds them to the API's schemas.
package kubernetes_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/sluicehq/sluice/internal/config"
)

// object is what the tests read of a manifest.
type object struct {
	Kind     string
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Data map[string]string // of a ConfigMap
	Spec struct {
		Replicas, MinReplicas, MinAvailable int
		Selector                            json.RawMessage
		ScaleTargetRef                      struct{ Name string }
		Ports                               []struct{ TargetPort string }
		Template                            struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				AutomountServiceAccountToken  *bool
				TerminationGracePeriodSeconds int
				SecurityContext               struct{ RunAsNonRoot bool }
				Containers                    []container
			}
		}
	}
	raw string
}

type container struct {
	Image           string
	Env             []struct{ Name, Value string }
	EnvFrom         []struct{ ConfigMapRef, SecretRef struct{ Name string } }
	Ports           []struct{ Name string }
	SecurityContext struct {
		AllowPrivilegeEscalation *bool
		ReadOnlyRootFilesystem   bool
		Capabilities             struct{ Drop []string }
	}
	StartupProbe, ReadinessProbe, LivenessProbe struct{ HTTPGet struct{ Path, Port string } }
	Resources                                   struct{ Requests, Limits map[string]string }
}

// built are the objects of an overlay, by kind and name.
func built(t *testing.T, overlay string) map[string]object {
	t.Helper()
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), overlay)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]object{}
	for _, r := range all.Resources() {
		raw, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		o := object{raw: string(raw)}
		if err := json.Unmarshal(raw, &o); err != nil {
			t.Fatalf("%s: %v", r.CurId(), err)
		}
		objects[o.Kind+" "+o.Metadata.Name] = o
	}
	return objects
}

var overlays = []string{"base", "production"}

func TestTheManifestsAreWhatTheAPITakes(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.NewCompiler().Compile("testdata/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, overlay := range overlays {
		for name, o := range built(t, overlay) {
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(o.raw))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err != nil {
				t.Errorf("%s, %s: %v", overlay, name, err)
			}
		}
	}
	for what, broken := range map[string]string{
		"a field that does not exist": `{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"port":80}}`,
		"a kind that is not used":     `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}`,
	} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(broken))
		if err != nil {
			t.Fatal(err)
		}
		if schema.Validate(doc) == nil {
			t.Errorf("%s is taken", what)
		}
	}
}

func TestNodesAreBoundedUnprivilegedAndProbed(t *testing.T) {
	t.Parallel()
	for _, overlay := range overlays {
		objects := built(t, overlay)
		for _, name := range []string{"Deployment sluice-gate", "Deployment sluice-admin"} {
			pod := objects[name].Spec.Template.Spec
			if len(pod.Containers) != 1 || !pod.SecurityContext.RunAsNonRoot || pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
				t.Errorf("%s, %s: one container, not root, without a token of the cluster: %+v", overlay, name, pod)
				continue
			}
			if pod.TerminationGracePeriodSeconds < 17 {
				t.Errorf("%s, %s: is killed after %d s, and may take --shutdown-timeout and 2 s", overlay, name, pod.TerminationGracePeriodSeconds)
			}
			c := pod.Containers[0]
			s := c.SecurityContext
			if s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
				t.Errorf("%s, %s: security context %+v", overlay, name, s)
			}
			if c.StartupProbe.HTTPGet.Path != "/readyz" || c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.LivenessProbe.HTTPGet.Path != "/healthz" {
				t.Errorf("%s, %s: probes %+v %+v %+v", overlay, name, c.StartupProbe, c.ReadinessProbe, c.LivenessProbe)
			}
			if c.Resources.Limits["memory"] == "" || c.Resources.Requests["cpu"] == "" {
				t.Errorf("%s, %s: resources %+v", overlay, name, c.Resources)
			}
			environ := []string{"SLUICE_REDIS_URL=rediss://redis.example:6379", "SLUICE_DATABASE_URL=postgres://postgres.example/sluice"} // of the secret
			for env, value := range objects["ConfigMap sluice"].Data {
				environ = append(environ, env+"="+value)
			}
			for _, e := range c.Env {
				environ = append(environ, e.Name+"="+e.Value)
			}
			var flags config.Flags
			sources := config.Sources{Environ: environ}
			k, err := kong.New(&flags, sources.Options()...)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := k.Parse(nil); err != nil {
				t.Errorf("%s, %s: %v", overlay, name, err)
			}
			if _, err := flags.Serve(); err != nil {
				t.Errorf("%s, %s: %v", overlay, name, err)
			}
			for _, from := range c.EnvFrom {
				if from.ConfigMapRef.Name != "" && objects["ConfigMap "+from.ConfigMapRef.Name].Kind == "" {
					t.Errorf("%s, %s: there is no ConfigMap %s", overlay, name, from.ConfigMapRef.Name)
				}
			}
		}
		for name := range objects {
			if strings.HasPrefix(name, "Secret ") {
				t.Errorf("%s holds %s: secrets come from outside", overlay, name)
			}
		}
	}
}

func TestServicesFindTheirPodsAndPorts(t *testing.T) {
	t.Parallel()
	objects := built(t, "production")
	for name, o := range objects {
		if o.Kind != "Service" {
			continue
		}
		var selector map[string]string
		if err := json.Unmarshal(o.Spec.Selector, &selector); err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, d := range objects {
			if d.Kind != "Deployment" || !within(selector, d.Spec.Template.Metadata.Labels) {
				continue
			}
			found++
			for _, p := range o.Spec.Ports {
				if !slices.ContainsFunc(d.Spec.Template.Spec.Containers[0].Ports, func(c struct{ Name string }) bool { return c.Name == p.TargetPort }) {
					t.Errorf("%s: %s has no port %s", name, d.Metadata.Name, p.TargetPort)
				}
			}
		}
		if found == 0 {
			t.Errorf("%s selects no pod: %v", name, selector)
		}
	}
	var watched struct {
		MatchLabels map[string]string
	}
	if err := json.Unmarshal(objects["ServiceMonitor sluice"].Spec.Selector, &watched); err != nil {
		t.Fatal(err)
	}
	if !within(watched.MatchLabels, objects["Service sluice-ops"].Metadata.Labels) {
		t.Errorf("Prometheus looks for %v, and the service has %v", watched.MatchLabels, objects["Service sluice-ops"].Metadata.Labels)
	}
}

func within(some, all map[string]string) bool {
	for k, v := range some {
		if all[k] != v {
			return false
		}
	}
	return len(some) > 0
}

func TestInProductionNodesAreManyAndOfOneVersion(t *testing.T) {
	t.Parallel()
	objects := built(t, "production")
	gate, scaled, kept := objects["Deployment sluice-gate"], objects["HorizontalPodAutoscaler sluice-gate"], objects["PodDisruptionBudget sluice-gate"]
	if gate.Spec.Replicas < 3 || scaled.Spec.ScaleTargetRef.Name != "sluice-gate" || scaled.Spec.MinReplicas < 3 {
		t.Errorf("%d nodes, of %q at least %d", gate.Spec.Replicas, scaled.Spec.ScaleTargetRef.Name, scaled.Spec.MinReplicas)
	}
	if kept.Spec.MinAvailable < 2 || kept.Spec.MinAvailable >= scaled.Spec.MinReplicas {
		t.Errorf("of %d nodes %d stay: one must be allowed to go", scaled.Spec.MinReplicas, kept.Spec.MinAvailable)
	}
	version := regexp.MustCompile(`:v\d+\.\d+\.\d+$`)
	for _, name := range []string{"Deployment sluice-gate", "Deployment sluice-admin"} {
		if image := objects[name].Spec.Template.Spec.Containers[0].Image; !version.MatchString(image) {
			t.Errorf("%s: image %s is not pinned", name, image)
		}
	}
}
