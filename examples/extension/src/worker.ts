/** The coordinator: carries out the writes of content scripts and of closed pages, and keeps no state. */
import { createCoordinator } from '../../../src/sync/index.ts'
import { ACTIONS, syncContext } from './model.ts'

const coordinator = createCoordinator(syncContext())
const cleanUp = () => void coordinator.cleanupOrphans()

chrome.runtime.onInstalled.addListener(cleanUp)
chrome.runtime.onStartup.addListener(cleanUp)
chrome.runtime.onMessage.addListener((message) => {
  if (message?.action === ACTIONS.openOptions) void chrome.runtime.openOptionsPage()
})
