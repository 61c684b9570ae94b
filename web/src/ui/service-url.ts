/**
 * The address of the service, with a slash at its end: the directory of the page. So the pages also work below a path
 * such as `/locks/`, whichever proxy removes it.
 */
export const SERVICE_URL = new URL('.', location.href).href
