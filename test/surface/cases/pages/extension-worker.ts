/** The service worker of the extension, as docs/sync.md writes it. It also answers the messages of the cases. */
import { chromeContext, chromeMessenger, createCoordinator } from 'holdfast/sync'
import { answers } from './sync-ports.ts'

createCoordinator(chromeContext())
answers(chromeMessenger())
