"""A client that dies, as the process does when it is killed."""

from hookrunner.kube.client import ApiCall, Client, RequestMeter
from hookrunner.kube.credentials import Credentials


class Died(BaseException):
    """As SIGKILL: nothing is tidied up."""


class Mortal(Client):
    """Dies after so many writes; from then on nothing reaches the API server."""

    def __init__(self, credentials: Credentials, meter: RequestMeter, left: int) -> None:
        super().__init__(credentials, meter)
        self.left = left

    async def send(self, call: ApiCall) -> bytes:
        if self.left <= 0:
            raise Died
        answer = await super().send(call)
        self.left -= call.method != "GET"
        return answer
