"""Defaults that depend on nothing: by Go type and field. A field that is there with an empty text counts as missing."""

from typing import Any

CORE, APPS, BATCH, NETWORKING = "core/v1.", "apps/v1.", "batch/v1.", "networking/v1."
STORAGE, ADMISSION = "storage/v1.", "admissionregistration/v1."

_MODE = {"defaultMode": 0o644}
_CONTAINER = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_WEBHOOK = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "timeoutSeconds": 10,
}
_MATCHES = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
_SCALE_IO = {"storageMode": "ThinProvisioned", "fsType": "xfs"}
_RBD = {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}
_ISCSI = {"iscsiInterface": "default"}

VALUES: dict[str, dict[str, Any]] = {
    # pods
    CORE + "PodSpec": {
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
    },
    CORE + "Container": _CONTAINER,
    CORE + "EphemeralContainer": _CONTAINER,
    CORE + "ContainerPort": {"protocol": "TCP"},
    CORE + "Probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    CORE + "HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    CORE + "GRPCAction": {"service": ""},
    CORE + "ObjectFieldSelector": {"apiVersion": "v1"},
    CORE + "FileKeySelector": {"optional": False},
    # volumes
    CORE + "SecretVolumeSource": _MODE,
    CORE + "ConfigMapVolumeSource": _MODE,
    CORE + "DownwardAPIVolumeSource": _MODE,
    CORE + "ProjectedVolumeSource": _MODE,
    CORE + "ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    CORE + "HostPathVolumeSource": {"type": ""},
    CORE + "ISCSIVolumeSource": _ISCSI,
    CORE + "ISCSIPersistentVolumeSource": _ISCSI,
    CORE + "RBDVolumeSource": _RBD,
    CORE + "RBDPersistentVolumeSource": _RBD,
    CORE + "AzureDiskVolumeSource": {
        "cachingMode": "ReadWrite",
        "kind": "Shared",
        "fsType": "ext4",
        "readOnly": False,
    },
    CORE + "ScaleIOVolumeSource": _SCALE_IO,
    CORE + "ScaleIOPersistentVolumeSource": _SCALE_IO,
    CORE + "PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    CORE + "PersistentVolumeClaimStatus": {"phase": "Pending"},
    CORE + "PersistentVolumeSpec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
    CORE + "PersistentVolumeStatus": {"phase": "Pending"},
    # the rest of the core group
    CORE + "Secret": {"type": "Opaque"},
    CORE + "ServiceSpec": {"sessionAffinity": "None", "type": "ClusterIP"},
    CORE + "EndpointPort": {"protocol": "TCP"},
    CORE + "NamespaceStatus": {"phase": "Active"},
    # workloads
    CORE + "ReplicationControllerSpec": {"replicas": 1},
    APPS + "DeploymentSpec": {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
    APPS + "DeploymentStrategy": {"type": "RollingUpdate"},
    APPS + "ReplicaSetSpec": {"replicas": 1},
    APPS + "DaemonSetSpec": {"revisionHistoryLimit": 10},
    APPS + "DaemonSetUpdateStrategy": {"type": "RollingUpdate"},
    APPS + "StatefulSetSpec": {
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "podManagementPolicy": "OrderedReady",
        "persistentVolumeClaimRetentionPolicy": {},
    },
    APPS + "StatefulSetPersistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    BATCH + "CronJobSpec": {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
    BATCH + "PodFailurePolicyOnPodConditionsPattern": {"status": "True"},
    # networking, discovery, scaling
    NETWORKING + "NetworkPolicyPort": {"protocol": "TCP"},
    NETWORKING + "IngressClassParametersReference": {"scope": "Cluster"},
    "discovery/v1.EndpointPort": {"name": "", "protocol": "TCP"},
    "autoscaling/v2.HorizontalPodAutoscalerSpec": {"minReplicas": 1},
    # storage, scheduling
    STORAGE + "StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
    STORAGE + "CSIDriverSpec": {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "volumeLifecycleModes": ["Persistent"],
        "requiresRepublish": False,
        "seLinuxMount": False,
    },
    "scheduling/v1.PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
    # admission, aggregation, extension
    ADMISSION + "MutatingWebhook": {**_WEBHOOK, "reinvocationPolicy": "Never"},
    ADMISSION + "ValidatingWebhook": _WEBHOOK,
    ADMISSION + "Rule": {"scope": "*"},
    ADMISSION + "RuleWithOperations": {"scope": "*"},
    ADMISSION + "NamedRuleWithOperations": {"scope": "*"},
    ADMISSION + "ServiceReference": {"port": 443},
    ADMISSION + "ValidatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    ADMISSION + "MutatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    ADMISSION + "MatchResources": _MATCHES,
    "apiextensions/v1.ServiceReference": {"port": 443},
}
