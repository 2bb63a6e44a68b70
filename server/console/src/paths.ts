// The paths of the views. The server answers exactly these with the page (build.mjs passes them on), so that a view can
// be reloaded, and its address sent to somebody. ":id" stands for one part that is not empty.
export const kViewPaths = [
  "/",
  "/policies",
  "/policies/:id",
  "/plans",
  "/plans/:id",
  "/explain",
  "/subject",
  "/playground",
  "/keys",
  "/tenants",
  "/tokens",
  "/groups",
  "/bindings",
  "/fleet",
  "/audit",
] as const;

export type ViewPath = (typeof kViewPaths)[number];
