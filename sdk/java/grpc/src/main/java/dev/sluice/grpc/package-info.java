/**
 * Limits what a gRPC server serves, and what a gRPC client calls: {@link dev.sluice.grpc.SluiceServerInterceptor} and
 * {@link dev.sluice.grpc.SluiceClientInterceptor}.
 */
package dev.sluice.grpc;
