package main

import (
	"context"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/dns/dnsmessage"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// newDNSCommand is the cluster's name server: it answers A queries for
// <service>.<namespace>.svc.cluster.local over UDP and knows no other name.
// It asks the API server at each query, so that a test never meets an answer
// that was true before.
func newDNSCommand() *cobra.Command {
	var kubeconfig, listen string
	command := &cobra.Command{
		Use: "dns", Short: "Answer A queries for services", SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error {
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return err
			}
			config.QPS = -1 // as many as are asked
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return err
			}
			return serve(client, listen)
		}}
	command.Flags().StringVar(&kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "who asks the API server")
	command.Flags().StringVar(&listen, "listen", "127.0.0.1:53", "address and UDP port")
	return command
}

// serve answers each datagram on its own, so that a slow one holds up nobody.
func serve(client kubernetes.Interface, listen string) error {
	conn, err := net.ListenPacket("udp", listen)
	if err != nil {
		return err
	}
	for {
		buffer := make([]byte, 1500)
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return err
		}
		go func() {
			if reply := answer(client, buffer[:n]); reply != nil {
				conn.WriteTo(reply, from) // lost is asked again
			}
		}()
	}
}

// answer is nil for what is no question. A name without a service is
// NXDOMAIN; other types of a name that exists have no answer, without an error.
func answer(client kubernetes.Interface, query []byte) []byte {
	var message dnsmessage.Message
	if message.Unpack(query) != nil || message.Response || len(message.Questions) != 1 {
		return nil
	}
	question := message.Questions[0]
	addresses, err := lookup(client, strings.ToLower(question.Name.String()))
	reply := dnsmessage.Message{Questions: message.Questions, Header: dnsmessage.Header{
		ID: message.ID, Response: true, Authoritative: true, RecursionDesired: message.RecursionDesired}}
	if err != nil {
		reply.RCode = dnsmessage.RCodeServerFailure
	} else if len(addresses) == 0 {
		reply.RCode = dnsmessage.RCodeNameError
	} else if question.Type == dnsmessage.TypeA {
		for _, text := range addresses {
			if ip := net.ParseIP(text).To4(); ip != nil {
				reply.Answers = append(reply.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: 1},
					Body:   &dnsmessage.AResource{A: [4]byte(ip)}})
			}
		}
	}
	packed, err := reply.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// lookup gives a service's own address, of a headless one the addresses of the
// pods that are ready, of anything else none.
func lookup(client kubernetes.Interface, name string) ([]string, error) {
	service, found := strings.CutSuffix(name, ".svc.cluster.local.")
	labels := strings.Split(service, ".")
	if !found || len(labels) != 2 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	object, err := client.CoreV1().Services(labels[1]).Get(ctx, labels[0], meta.GetOptions{})
	if errors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if object.Spec.ClusterIP != "None" {
		return object.Spec.ClusterIPs, nil
	}
	slices, err := client.DiscoveryV1().EndpointSlices(labels[1]).List(
		ctx, meta.ListOptions{LabelSelector: discovery.LabelServiceName + "=" + labels[0]})
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			if endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready {
				addresses = append(addresses, endpoint.Addresses...)
			}
		}
	}
	return addresses, nil
}
