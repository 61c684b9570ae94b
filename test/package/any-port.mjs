/** Loaded before an example whose code must stay as it is: port 4321 may be in use on this machine. */
import { Server } from 'node:net'

const { listen } = Server.prototype
Server.prototype.listen = function (port, ...rest) {
  return listen.call(this, port === 4321 ? 0 : port, ...rest)
}
