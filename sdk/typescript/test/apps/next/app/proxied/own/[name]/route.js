export const GET = () => new Response('behind the proxy');
