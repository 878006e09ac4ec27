package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// registry is one image in a registry. The callers of open compare each part with the promised digest.
type registry struct {
	ref    Ref
	client *http.Client
	gate   *gate
	digest v1.Hash // of the manifest or index that the reference means
}

var manifestTypes = strings.Join([]string{
	string(types.OCIManifestSchema1), string(types.DockerManifestSchema2),
	string(types.OCIImageIndex), string(types.DockerManifestList),
}, ",")

func (c *Cache) openRegistry(ctx context.Context, ref Ref) (*registry, error) {
	auth, err := authn.Resolve(ctx, authn.DefaultKeychain, ref.repo)
	if err != nil {
		return nil, because(err, Denied, "the credentials for %s cannot be read", ref.repo.RegistryStr())
	}
	g := newGate(ref.repo.RegistryStr(), c.options)
	again := transport.NewRetry(g, transport.WithRetryStatusCodes(http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout))
	scopes := []string{ref.repo.Scope(transport.PullScope)}
	trip, err := transport.NewWithContext(ctx, ref.repo.Registry, auth, again, scopes)
	if err != nil {
		g.close()
		return nil, network(ctx, err, ref.repo.RegistryStr())
	}
	return &registry{ref: ref, client: &http.Client{Transport: trip}, gate: g, digest: ref.digest}, nil
}

func (r *registry) Close() error {
	r.gate.close()
	return nil
}

func (r *registry) parts(ctx context.Context) (parts, error) {
	name := r.ref.tag
	if r.ref.Pinned() {
		name = r.ref.digest.String()
	}
	raw, err := r.document(ctx, name)
	if err != nil {
		return parts{}, err
	}
	r.digest = digestOf(raw)
	if r.ref.Pinned() {
		if err := checkDigest("manifest", r.ref.digest, raw); err != nil {
			return parts{}, err
		}
	}
	return choose(ctx, r, r.digest, raw)
}

func (r *registry) manifest(ctx context.Context, digest v1.Hash) ([]byte, error) {
	raw, err := r.document(ctx, digest.String())
	if err != nil {
		return nil, err
	}
	return raw, checkDigest("manifest", digest, raw)
}

// document reads a manifest or an index by its digest or by a tag.
func (r *registry) document(ctx context.Context, name string) ([]byte, error) {
	body, err := r.get(ctx, "manifests", name)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, network(ctx, err, r.ref.repo.RegistryStr())
	}
	return raw, nil
}

func (r *registry) open(ctx context.Context, b blob) (io.ReadCloser, error) {
	body, err := r.get(withBound(ctx, b.size+1), "blobs", b.digest.String()) // a byte more, so that the verifier sees it
	if err != nil {
		return nil, err
	}
	return brought{body, ctx, r.ref.repo.RegistryStr()}, nil
}

func (r *registry) get(ctx context.Context, what, name string) (io.ReadCloser, error) {
	repo := r.ref.repo
	url := fmt.Sprintf("%s://%s/v2/%s/%s/%s", repo.Scheme(), repo.RegistryStr(), repo.RepositoryStr(), what, name)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if what == "manifests" {
		request.Header.Set("Accept", manifestTypes)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, network(ctx, err, repo.RegistryStr())
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, refused(response.StatusCode, repo.RegistryStr())
	}
	return response.Body, nil
}

// brought is the content of a part on its way from the registry. If the content ends too early, it passes the end on
// unchanged, because the verifier judges that.
type brought struct {
	io.ReadCloser
	ctx      context.Context
	registry string
}

func (b brought) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = network(b.ctx, err, b.registry)
	}
	return n, err
}

// network turns an error on the way to a registry into an Error, or into the cause if ctx has ended.
func network(ctx context.Context, err error, registry string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if said, ok := errors.AsType[*transport.Error](err); ok {
		return refused(said.StatusCode, registry)
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return because(dns, Unreachable, "the registry %s is not found", registry)
	}
	return because(err, Unreachable, "the registry %s cannot be reached", registry)
}

// refused turns the status of a reply into an Error. It shows nothing else of the reply, because its text is a
// stranger's.
func refused(status int, registry string) error {
	switch status {
	case http.StatusNotFound:
		return problem(NotFound, "the registry %s does not have it", registry)
	case http.StatusUnauthorized, http.StatusForbidden:
		return problem(Denied, "the registry %s refuses to give it to us (%d)", registry, status)
	}
	return problem(Unreachable, "the registry %s answers with %d %s", registry, status, http.StatusText(status))
}
