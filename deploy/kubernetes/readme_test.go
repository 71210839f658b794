package kubernetes_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/sluicehq/sluice/internal/config"
)

// What the README says to type fits the manifests: the secret's name and keys, the labels of namespaces, the overlay.
func TestTheReadmesCommandsFitTheManifests(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(raw), "```sh\n")
	block, _, _ = strings.Cut(block, "\n```")
	commands := strings.Split(strings.ReplaceAll(block, "\\\n", " "), "\n")
	objects := built(t, "production")
	namespace := regexp.MustCompile(`"namespace":"sluice"`)
	for _, command := range commands {
		words := strings.Fields(command)
		switch {
		case strings.HasPrefix(command, "kubectl create namespace "):
			if words[3] != "sluice" || !namespace.MatchString(objects["Deployment sluice-gate"].raw) {
				t.Errorf("%s: the manifests are for another namespace", command)
			}
		case strings.HasPrefix(command, "kubectl -n sluice create secret generic sluice "):
			var environ []string
			for _, m := range regexp.MustCompile(`--from-literal=(\w+)=`).FindAllStringSubmatch(command, -1) {
				environ = append(environ, m[1]+"=x")
			}
			k, err := kong.New(&config.Flags{}, (&config.Sources{Environ: environ}).Options()...)
			if err != nil {
				t.Fatal(err)
			}
			known := map[string]bool{}
			for _, f := range k.Model.Flags {
				for _, env := range f.Envs {
					known[env] = true
				}
				known["SLUICE_"+strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))] = true
			}
			for _, e := range environ {
				if name, _, _ := strings.Cut(e, "="); !known[name] {
					t.Errorf("the secret's %s is no setting", name)
				}
			}
			for _, name := range []string{"Deployment sluice-gate", "Deployment sluice-admin"} {
				from := objects[name].Spec.Template.Spec.Containers[0].EnvFrom
				if len(environ) == 0 || len(from) != 2 || from[0].SecretRef.Name+from[1].SecretRef.Name != "sluice" {
					t.Errorf("%s does not take the secret sluice: %+v", name, from)
				}
			}
		case strings.HasPrefix(command, "kubectl label namespace "):
			key, value, _ := strings.Cut(words[4], "=")
			if !strings.Contains(objects["NetworkPolicy sluice"].raw, `"`+key+`":"`+value+`"`) {
				t.Errorf("%s: the network policy asks for another label", command)
			}
		case strings.HasPrefix(command, "kubectl apply -k "):
			if _, err := os.Stat("../../" + words[3] + "/kustomization.yaml"); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("nobody looks whether this is right: %s", command)
		}
	}
}
